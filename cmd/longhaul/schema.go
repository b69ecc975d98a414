package main

import (
	"github.com/spf13/cobra"

	"github.com/longhaul-rl/longhaul/config"
)

func (a *app) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "schema",
		GroupID: groupSetUp,
		Short:   "Print the JSON Schema of run.yaml",
		Long: "Prints the JSON Schema (draft 2020-12) of run.yaml, for editors. With the YAML language server, the first line of run.yaml\n" +
			"may be:  # yaml-language-server: $schema=run.schema.json",
		Example: "  longhaul schema > run.schema.json",
		RunE: func(*cobra.Command, []string) error {
			a.out.print("%s", config.Schema(registered()))
			return nil
		},
	}
}
