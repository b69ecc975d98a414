package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/longhaul-rl/longhaul/infra/simjudge"
	"github.com/longhaul-rl/longhaul/rl"
)

func (a *app) judgeSimulate() *cobra.Command {
	var listen, tasks, keyEnv string
	o := simjudge.Options{World: "orders"}
	c := a.jsonFlag(&cobra.Command{
		Use: "simulate", Short: "Serve a judge without a model, with errors of a known size, until it is stopped",
		Long: "simulate answers the prompts of reward: {use: judge} on env: {use: orders} from what it reads in them: it finds the task, gets\n" +
			"each attempt's score from the environment, and says of each pair which is better, with mistakes. It prints its URL.\n" +
			"Another address than loopback needs a key.",
		Example: "  longhaul judge simulate --listen 127.0.0.1:8088 --noise .15 --bias .1",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.Tasks.UnmarshalText([]byte(tasks)); err != nil {
				return usagef("--tasks: %s", err)
			}
			if o.Key = a.getenv(keyEnv); keyEnv != "" && o.Key == "" {
				return usagef("--api-key-env: there is nothing in %s", keyEnv)
			}
			if o.Key == "" && !onLoopback(listen) {
				return usagef("--listen %s can be reached from other machines: name a variable with a key, --api-key-env", listen)
			}
			return a.simulate(cmd.Context(), listen, o)
		},
	})
	f := c.Flags()
	f.StringVar(&listen, "listen", "127.0.0.1:0", "address; port 0: a free one")
	f.StringVar(&keyEnv, "api-key-env", "", "environment variable with the key that callers must have")
	f.StringVar(&tasks, "tasks", "0-9999", "train tasks that it may be asked about")
	f.Float64Var(&o.Noise, "noise", .15, "share of pairs of which it says something else than what is true")
	f.Float64Var(&o.Bias, "bias", .1, "share of pairs of which it prefers the attempt shown first")
	f.DurationVar(&o.Delay, "delay", 0, "before each answer")
	f.IntVar(&o.Limited, "limited", 0, "calls that are answered by 429 before any is served")
	f.DurationVar(&o.RetryAfter, "retry-after", time.Second, "what those are told to wait")
	f.IntVar(&o.Bad, "bad", 0, "replies that lack an id before the first good one")
	return c
}

// onLoopback reports whether only this machine reaches an address.
func onLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return true // it is no address at all, which listening says
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// simulate serves until ctx ends.
func (a *app) simulate(ctx context.Context, listen string, o simjudge.Options) error {
	judge, err := simjudge.New(ctx, o)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return rl.Errorf(rl.Unavailable, "judge simulate", "%w", err)
	}
	url := "http://" + l.Addr().String() + "/v1"
	if a.out.json {
		if err := a.out.object(map[string]string{"event": "judge", "url": url}); err != nil {
			return err
		}
	} else {
		a.out.print("%s\n", url)
	}
	server := &http.Server{Handler: judge, ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return rl.Errorf(rl.Unavailable, "judge simulate", "%w", err)
	}
	s := judge.Stats()
	a.out.say("asked %d times, %d answers were paid", s.Asked, s.Paid)
	return ctx.Err()
}
