package dev

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	uiserver "github.com/temporalio/ui-server/v2/server"
	uiconfig "github.com/temporalio/ui-server/v2/server/config"
	uioptions "github.com/temporalio/ui-server/v2/server/server_options"
)

// startUI serves Temporal's web pages and returns once they answer.
func (d *Dev) startUI(ctx context.Context) error {
	port, err := d.ports.pick("temporal-ui")
	if err != nil {
		return err
	}
	ui := uiserver.NewServer(uioptions.WithConfigProvider(&uiconfig.Config{
		Host: loopback, Port: port,
		TemporalGRPCAddress: d.process.Temporal,
		EnableUI:            true,
		DefaultNamespace:    Namespace,
		CORS:                uiconfig.CORS{CookieInsecure: true}, // plain http on loopback
		HideLogs:            true,                                // no banner, no request log
		DisableNewsFetch:    true,                                // no call out to the internet
	}))
	ended := make(chan error, 1)
	go func() { ended <- ui.Start() }()
	d.stops = append(d.stops, func() error {
		ui.Stop()
		return nil
	})
	if err := answers(ctx, url(port)+"/healthz", ended); err != nil {
		return fmt.Errorf("the Temporal web UI on %s: %w", url(port), err)
	}
	d.process.TemporalUI = url(port)
	return nil
}

// answers waits until a GET of the address succeeds or the server behind it ends.
func answers(ctx context.Context, address string, ended <-chan error) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return err
		}
		if resp, err := http.DefaultClient.Do(req); err == nil {
			resp.Body.Close()
			return nil
		}
		select {
		case err := <-ended:
			return errors.Join(errors.New("it ended"), err)
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}
