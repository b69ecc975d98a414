package main

import (
	"context"

	"github.com/spf13/cobra"
)

func (a *app) showCommand() *cobra.Command {
	return a.jsonFlag(&cobra.Command{
		Use:     "show RUN[/UPDATE[/TASK[/MEMBER]]] | RUN@VERSION[/EVALUATION[/TASK[/PLAY]]]",
		GroupID: groupLook,
		Short:   "Drill down from a run to one trajectory, turn by turn",
		Long: "Shows a run, one of its updates, a group of that update, or one trajectory with its score, advantage and lineage.\n" +
			"With a version (RUN@000012, RUN@latest, RUN@best) it shows what was evaluated. The first column of every list is what show takes next.",
		Example: "  longhaul show orders-1\n  longhaul show orders-1/12\n  longhaul show orders-1/12/train-17/3\n  longhaul show orders-1@best",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			at, err := parseAddress(args[0])
			if err != nil {
				return err
			}
			c, err := a.connect(cmd.Context(), want{})
			if err != nil {
				return err
			}
			defer c.Close()
			if at, err = at.resolve(cmd.Context(), c.Store); err != nil {
				return err
			}
			return a.show(cmd.Context(), viewer{c.Store, a.out}, at)
		},
	})
}

func (a *app) show(ctx context.Context, v viewer, at address) error {
	if at.version != "" {
		switch at.depth {
		case 0:
			return v.version(ctx, at)
		case 1:
			return v.evaluation(ctx, at)
		case 2:
			return v.played(ctx, at)
		}
		return v.playedOnce(ctx, at)
	}
	switch at.depth {
	case 0:
		return v.run(ctx, at.run)
	case 1:
		return v.update(ctx, at)
	case 2:
		return v.group(ctx, at)
	}
	return v.episode(ctx, at)
}
