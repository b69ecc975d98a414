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
		return open("shop", "env.use", "shop", Example())
	}})
}

// Example is the files of the shop, as an example of a world's directory.
func Example() fs.FS {
	files, err := fs.Sub(shop, "shop")
	if err != nil {
		panic(err) // the name is a good one
	}
	return files
}
