package tinker

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/longhaul-rl/longhaul/rl"
)

// patience is how long a service that does not answer is asked for a result that it may have. An engine that was killed is back
// within a minute or two, and then says that it has lost what it was to do.
const patience = 5 * time.Minute

// started is the answer to every call that the engine works on by itself.
type started struct {
	Request string `json:"request_id"`
	Model   string `json:"model_id"` // of create_model
}

// call starts a call and waits for its result. Errors are those of start and await.
func (c *Client) call(ctx context.Context, path string, in, out any) error {
	var s started
	if err := c.start(ctx, path, in, &s); err != nil {
		return err
	}
	return c.await(ctx, path, s.Request, out)
}

// await waits for the result of a call that was started. Asking for it changes nothing there, so it is asked for again
// until there is one, the context ends, or the service has not answered for so long.
func (c *Client) await(ctx context.Context, what, request string, out any) error {
	heard := time.Now()
	for {
		var answer json.RawMessage // what is no JSON may be a go-between's page, and is asked for again
		err := c.post(ctx, waiting, "retrieve_future", map[string]string{"request_id": request}, &answer)
		r, answered := errors.AsType[*refusal](err)
		switch {
		case err == nil:
			if err := json.Unmarshal(answer, out); err != nil {
				return rl.Errorf(rl.Invalid, c.at, "%s: the answer is not what the API promises: %w", what, err)
			}
			return nil
		case ctx.Err() != nil:
			return c.lost(what, ctx.Err())
		case answered && r.status == http.StatusRequestTimeout: // it is still worked on
			heard = time.Now()
			continue
		case answered && r.status != http.StatusTooManyRequests && r.status < 502:
			return c.refused(what, r) // 500: it has failed, and nobody knows how far it came
		case time.Since(heard) > patience:
			return c.lost(what, err)
		}
		wait := pause
		if answered {
			wait = max(wait, r.after)
		}
		if err := sleep(ctx, wait); err != nil {
			return c.lost(what, err)
		}
	}
}
