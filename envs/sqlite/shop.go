package sqlite

import (
	"embed"
	"io/fs"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

//go:generate sh -c "cd ../.. && go run ./scripts/shop > envs/sqlite/shop/tasks.jsonl.new && mv envs/sqlite/shop/tasks.jsonl.new envs/sqlite/shop/tasks.jsonl"

// shop is a world that needs no files: the support desk of a shop.
//
//go:embed shop/schema.sql shop/system.md shop/tools shop/tasks.jsonl
var shop embed.FS

func init() {
	envs.RegisterKind(envs.Kind{Name: "shop", Open: func(rl.EnvConfig) (envs.World, error) {
		files, err := fs.Sub(shop, "shop")
		if err != nil {
			return envs.World{}, err
		}
		return open("shop", "env.use", "shop", files)
	}})
}
