package main

import "github.com/spf13/cobra"

func (a *app) tasksCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "tasks", Short: "Have a model write tasks for an environment of tools", GroupID: groupSetUp,
		Long: "A file of tasks is what env.mcp.tasks in run.yaml names.",
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	propose := a.tasksPropose()
	strict(propose)
	c.AddCommand(propose)
	return c
}
