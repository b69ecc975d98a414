package main

import "github.com/spf13/cobra"

func (a *app) judgeCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "judge", Short: "Try out judges: LLMs that compare the attempts of a group", GroupID: groupSetUp,
		Long: "A judge is what reward: {use: judge} in run.yaml asks.",
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	for _, sub := range []*cobra.Command{a.judgeCheck(), a.judgeSimulate()} {
		strict(sub)
		c.AddCommand(sub)
	}
	return c
}
