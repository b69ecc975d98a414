package activities

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/longhaul-rl/longhaul/adapter"
	"github.com/longhaul-rl/longhaul/policy"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// restartPatience is how long servers may take until they serve what they were restarted for.
const restartPatience = 10 * time.Minute

// publisher gets versions to the servers of a run's policy.
type publisher struct {
	*Activities
	store  *store.Store
	config rl.Config
	client *policy.Client
}

// publish has every server serve a version that training has made, and forget those that are too old to be asked for.
// What is published already stays as it is. In a run that trains, the servers' answers must be such that they can be
// trained on.
func (p publisher) publish(ctx context.Context, v rl.Version) error {
	if err := endLoan(ctx, p.client, p.config); err != nil { // a worker may have died before it did
		return err
	}
	name, err := p.served(ctx, p.store, p.config, v)
	if err != nil {
		return err
	}
	if name == string(v) && publishes(p.config) {
		if err := p.serve(ctx, "", v); err != nil {
			return err
		}
	}
	if err := p.client.Ready(ctx, name, p.config.Policy.Use == "openai" && p.config.Updates > 0); err != nil {
		return err
	}
	p.forget(ctx, v)
	return nil
}

// again has the server at a URL serve a version that it has forgotten.
func (p publisher) again(ctx context.Context, url, model string) error {
	if _, _, err := rl.Version(model).Parse(); err != nil {
		return rl.Errorf(rl.Refused, "policy.model", "the server at %s does not serve %q", url, model)
	}
	return p.serve(ctx, url, rl.Version(model))
}

// serve puts a version where servers read it, and has the one at a URL, or all, load it.
func (p publisher) serve(ctx context.Context, url string, v rl.Version) error {
	c, err := checkpointOf(ctx, p.store, v)
	if err != nil {
		return err
	}
	if _, adapted := c.File(adapter.WeightsFile); adapted != (p.config.Policy.Publish == "lora") {
		return rl.Errorf(rl.Refused, "policy.publish", "%s is %s: it cannot be published with publish: %s", v,
			map[bool]string{true: "an adapter", false: "a whole model"}[adapted], p.config.Policy.Publish)
	}
	dir, err := p.materialise(ctx, v, versionFiles(c))
	if err != nil {
		return err
	}
	if p.config.Policy.Publish == "lora" {
		return p.client.AddAdapter(ctx, url, string(v), dir)
	}
	return p.restart(ctx, url, v, dir)
}

// materialise makes a directory of a version's files under policy.adapters, in one step, and returns it. Its name has
// the hash of its content, which therefore never changes: servers cache by directory.
func (p publisher) materialise(ctx context.Context, v rl.Version, files []rl.File) (string, error) {
	dir := filepath.Join(p.config.Policy.Adapters, fmt.Sprintf("%s-%.12s", v, store.SHA256(rl.CanonicalJSON(files))))
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	part := filepath.Join(filepath.Dir(dir), "."+filepath.Base(dir)+".part")
	err := os.MkdirAll(part, 0o755)
	if err == nil {
		err = p.store.SaveFiles(ctx, part, files)
	}
	if err == nil {
		err = os.Rename(part, dir)
	}
	if _, there := os.Stat(dir); there == nil { // made by another process, maybe
		return dir, nil
	}
	if rl.KindOf(err) == "" {
		err = rl.Errorf(rl.Unavailable, "policy.adapters", "%w", err)
	}
	return "", err
}

// restart runs policy.restart, unless the servers serve the version already, and waits until they do.
func (p publisher) restart(ctx context.Context, url string, v rl.Version, dir string) error {
	if url == "" && p.client.Ready(ctx, string(v), false) == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, restartPatience)
	defer cancel()
	if url == "" {
		url = p.config.Policy.URL
	}
	command := exec.CommandContext(ctx, "/bin/sh", "-c", p.config.Policy.Restart)
	command.Env = append(os.Environ(), "LONGHAUL_MODEL_DIR="+dir, "LONGHAUL_VERSION="+string(v), "LONGHAUL_POLICY_URL="+url)
	command.WaitDelay = time.Second // for what it left running, and gave its output to
	if out, err := command.CombinedOutput(); err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return rl.Errorf(rl.Unavailable, "policy.restart", "%w: %s", err, words(errors.New(strings.TrimSpace(string(out)))))
	}
	for {
		err := p.client.Ready(ctx, string(v), false)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return rl.Errorf(rl.Unavailable, "policy.restart", "the servers do not serve %s after %v: %w", v, restartPatience, err)
		}
	}
}

// forget takes versions of the run away that are older than what episodes may be played with. One that is asked for all
// the same, by an evaluation, is published again. It is not the version's failure when that fails.
func (p publisher) forget(ctx context.Context, v rl.Version) {
	if !publishes(p.config) {
		return
	}
	_, newest, err := v.Parse()
	oldest := newest - rl.UpdateNumber(max(1, p.config.Group.MaxStaleness))
	old := func(name string) bool {
		run, n, err := rl.Version(name).Parse()
		return err == nil && run == p.config.Name && n < oldest
	}
	if err == nil && p.config.Policy.Publish == "lora" {
		err = p.client.DropAdapters(ctx, old)
	}
	entries, readErr := os.ReadDir(p.config.Policy.Adapters)
	if errors.Is(readErr, fs.ErrNotExist) {
		readErr = nil
	}
	err = errors.Join(err, readErr)
	for _, e := range entries {
		at := strings.LastIndexByte(e.Name(), '-')
		if at > 0 && old(strings.TrimPrefix(e.Name()[:at], ".")) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(p.config.Policy.Adapters, e.Name())))
		}
	}
	if err != nil {
		p.log().Warn("old versions could not be taken from the policy servers", "run", p.config.Name, "why", err)
	}
}
