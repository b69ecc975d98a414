package openenv

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

func init() { envs.RegisterKind(envs.Kind{Name: "openenv", Open: open}) }

// schemaWait is how long a server may take to say what an action is.
const schemaWait = 30 * time.Second

// world is what the episodes of a configuration share.
type world struct {
	config rl.OpenEnvConfig
	spec   envs.Spec
	show   []string
	tasks  *taskList
	// places has each server as often as it has room for another session of this process.
	places chan *server
}

func open(c rl.EnvConfig) (envs.World, error) {
	w := &world{config: c.OpenEnv}
	all, err := servers(c.OpenEnv)
	if err != nil {
		return envs.World{}, err
	}
	w.places = make(chan *server, len(all)*max(1, c.OpenEnv.Sessions))
	for range max(1, c.OpenEnv.Sessions) {
		for _, s := range all {
			w.places <- s
		}
	}
	digest := sha256.New()
	schema, err := actionSchema(c.OpenEnv, all)
	if err != nil {
		return envs.World{}, err
	}
	digest.Write(schema)
	tool, err := actionTool(c.OpenEnv.Tool, schema)
	if err != nil {
		return envs.World{}, err
	}
	tool.OutputCap = c.OpenEnv.OutputBytes
	w.spec = envs.Spec{System: c.OpenEnv.System, Tools: []envs.Tool{tool}}
	var file []byte
	if c.OpenEnv.Tasks != "" {
		if file, err = os.ReadFile(c.OpenEnv.Tasks); err != nil {
			return envs.World{}, rl.Errorf(rl.Invalid, "env.openenv.tasks", "%w", err)
		}
		digest.Write(file)
		if w.tasks, err = parseTasks(file); err != nil {
			return envs.World{}, err
		}
	}
	if c.OpenEnv.Show != "" {
		w.show = strings.FieldsFunc(c.OpenEnv.Show, func(r rune) bool { return r == ',' || r == ' ' })
	}
	return envs.World{
		Name: "openenv", New: func() envs.Env { return &env{world: w} },
		Task: w.tasks.task, Count: w.tasks.count(), Facts: func(t rl.Task) []string { return []string{string(w.tasks.reset(t))} },
		Digest: hex.EncodeToString(digest.Sum(nil)),
	}, nil
}

// actionSchema is the JSON schema of an action: the file's, or that of the first server that is there.
func actionSchema(c rl.OpenEnvConfig, all []*server) (json.RawMessage, error) {
	if c.Schema != "" {
		b, err := os.ReadFile(c.Schema)
		if err != nil {
			return nil, rl.Errorf(rl.Invalid, "env.openenv.schema", "%w", err)
		}
		return b, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), schemaWait)
	defer cancel()
	var why error
	for _, s := range all {
		action, err := s.action(ctx)
		if err == nil || rl.KindOf(err) != rl.Unavailable {
			return action, err
		}
		why = cmp.Or(why, err)
	}
	return nil, why
}

// actionTool is the tool whose arguments are an action. What pydantic adds to every action, its metadata and titles, says nothing to a
// model and is left out.
func actionTool(name string, schema json.RawMessage) (envs.Tool, error) {
	all, ok := fields(schema)
	var told struct {
		Type, Description string
		Required          []string
	}
	if !ok || json.Unmarshal(schema, &told) != nil || told.Type != "object" {
		return envs.Tool{}, rl.Errorf(rl.Invalid, "env.openenv.schema", "%.200q is no JSON schema of an object, which an action is", schema)
	}
	var kept []field
	for _, f := range all {
		if f.name == "properties" {
			f.value = withoutMetadata(f.value, told.Required)
		}
		if f.name != "title" && f.name != "description" {
			kept = append(kept, f)
		}
	}
	if told.Description == "" {
		told.Description = "Takes an action."
	}
	return envs.Tool{Tool: rl.Tool{Name: name, Description: told.Description, Parameters: object(kept)}, Effect: envs.EpisodeLocal}, nil
}

func withoutMetadata(properties json.RawMessage, required []string) json.RawMessage {
	all, ok := fields(properties)
	if !ok {
		return properties
	}
	var kept []field
	for _, p := range all {
		if p.name != "metadata" || slices.Contains(required, p.name) {
			kept = append(kept, p)
		}
	}
	return object(kept)
}
