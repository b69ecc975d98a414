package tinker

import (
	"context"
	"time"
)

// The service unloads the models of a session that it has not heard of for 300 s; Tinker's own client beats every 10.
const beats = 10 * time.Second

// session keeps models loaded: it beats until it is closed.
type session struct {
	client *Client
	id     string
	stop   context.CancelFunc
}

// open makes a session. It outlives ctx; close ends it.
func (c *Client) open(ctx context.Context) (*session, error) {
	var s struct {
		ID string `json:"session_id"`
	}
	in := map[string]any{"tags": []string{"longhaul"}, "user_metadata": map[string]any{}, "sdk_version": "longhaul"}
	if err := c.start(ctx, "create_session", in, &s); err != nil {
		return nil, err
	}
	beating, stop := context.WithCancel(context.WithoutCancel(ctx))
	session := &session{client: c, id: s.ID, stop: stop}
	go session.beat(beating)
	return session, nil
}

// beat tells the service that the session is alive. A beat that fails is not looked at: whoever next uses a model of the
// session learns what is wrong.
func (s *session) beat(ctx context.Context) {
	ticker := time.NewTicker(beats)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			s.client.post(ctx, beats, "session_heartbeat", map[string]string{"session_id": s.id}, &struct{}{})
		case <-ctx.Done():
			return
		}
	}
}

func (s *session) close() { s.stop() }
