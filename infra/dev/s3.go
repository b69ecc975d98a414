package dev

import (
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/longhaul-rl/longhaul/infra/dev/s3"
	"github.com/longhaul-rl/longhaul/inprocess"
)

// startS3 serves the directory's object store on loopback. The bucket comes into being at its first write.
func (d *Dev) startS3() error {
	keys, err := openCredentials(d.dir, d.log)
	if err != nil {
		return err
	}
	store, err := s3.Open(at(d.dir, "s3"), s3.Options{AccessKey: keys.AccessKey, SecretKey: keys.SecretKey})
	if err != nil {
		return err
	}
	l, err := d.ports.listen("s3")
	if err != nil {
		return errors.Join(err, store.Close())
	}
	web := &http.Server{Handler: store, ReadHeaderTimeout: 10 * time.Second}
	go d.serve(web, l)
	d.store = store
	d.process.S3, d.process.AccessKey, d.process.SecretKey = url(portOf(l)), keys.AccessKey, keys.SecretKey
	d.stops = append(d.stops, func() error { return errors.Join(web.Close(), store.Close()) })
	return nil
}

// serve runs until the server is closed.
func (d *Dev) serve(web *http.Server, l net.Listener) {
	if err := web.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		d.log.Error("the embedded S3 server stopped answering other processes", "address", l.Addr().String(), "error", err)
	}
}

// S3Transport reaches the embedded store without a socket, with the same signatures and checks: some fifty
// microseconds less a request. It is nil, which clients take as the network, when S3 does not run here.
func (d *Dev) S3Transport() http.RoundTripper {
	if d.store == nil {
		return nil
	}
	return inprocess.Transport{Handler: d.store}
}
