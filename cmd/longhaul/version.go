package main

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/longhaul-rl/longhaul/tiny/kern"
)

// versions is `version --json`.
type versions struct {
	Longhaul string `json:"longhaul"`
	Commit   string `json:"commit,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Kernel   string `json:"kernel"` // instruction set of the embedded policy; results do not depend on it
	Temporal string `json:"temporal"`
}

func (a *app) versionCommand() *cobra.Command {
	return a.jsonFlag(&cobra.Command{
		Use:     "version",
		GroupID: groupSetUp,
		Short:   "Print versions of longhaul and of what is embedded",
		RunE: func(*cobra.Command, []string) error {
			v := built()
			if a.out.json {
				return a.out.object(v)
			}
			a.out.rows([][]string{{"longhaul", v.Longhaul + " " + v.Commit}, {"go", v.Go + " " + v.Platform}, {"kernel", v.Kernel}, {"temporal server", v.Temporal}})
			return nil
		},
	})
}

func built() versions {
	v := versions{Longhaul: "unknown", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	v.Kernel, _ = kern.Mode() // the error is doctor's to tell
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	v.Longhaul = info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v.Commit = s.Value
		}
	}
	for _, m := range info.Deps {
		if m.Path == "go.temporal.io/server" {
			v.Temporal = m.Version
		}
	}
	return v
}
