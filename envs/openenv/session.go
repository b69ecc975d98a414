package openenv

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coder/websocket"

	"github.com/longhaul-rl/longhaul/rl"
)

// mostReply bounds what a server may send at once, in bytes.
const mostReply = 64 << 20

// farewell is how long a server has to end a session that is closed.
const farewell = 2 * time.Second

// errLost is in the error of a request whose socket is gone: the server has forgotten the world.
var errLost = errors.New("the session is lost with its socket")

// session is a world on a server, for as long as the socket lasts.
type session struct {
	conn    *websocket.Conn
	replies chan []byte
	quit    chan struct{} // closed when nobody asks any more
	gone    chan struct{} // closed after why is set
	why     error
}

// dial begins a session.
func dial(ctx context.Context, s *server) (*session, error) {
	conn, res, err := websocket.Dial(ctx, s.url+"/ws", &websocket.DialOptions{HTTPClient: client, HTTPHeader: s.header})
	if err != nil {
		return nil, s.refusal("/ws", res, err)
	}
	conn.SetReadLimit(mostReply)
	out := &session{conn: conn, replies: make(chan []byte), quit: make(chan struct{}), gone: make(chan struct{})}
	go out.read()
	return out, nil
}

// read takes in what the server sends for as long as the socket lasts. It runs also while no answer is due: only a socket
// that is read answers the server's pings, and a policy may think longer than a server waits for those.
func (s *session) read() {
	defer close(s.gone)
	for {
		_, message, err := s.conn.Read(context.Background())
		if err != nil {
			s.why = fmt.Errorf("%w: %w", errLost, err)
			return
		}
		select {
		case s.replies <- message:
		case <-s.quit:
			s.why = errLost
			return
		}
	}
}

// ask sends a request and waits for its answer. A server that sends more than one message to a request is noticed at the next one, where the
// second came before that: messages say nothing of what they answer. After an error that is no failure of the server's own the session is of no
// further use: an answer may still come, to a question that nobody asks any more.
func (s *session) ask(ctx context.Context, r request) (state, error) {
	select {
	case message := <-s.replies: // before it was asked: it may say why there is no session
		_, err := parse(message)
		if _, said := errors.AsType[failure](err); !said {
			err = fmt.Errorf("%w: it sent %.200q unasked", errLost, message)
		}
		return state{}, err
	default:
	}
	// A write that fails closes the socket, and then there is an answer or a reason below.
	_ = s.conn.Write(ctx, websocket.MessageText, rl.CanonicalJSON(r))
	select {
	case message := <-s.replies:
		return parse(message)
	case <-s.gone:
		return state{}, s.why
	case <-ctx.Done():
		return state{}, context.Cause(ctx)
	}
}

// close ends the session, so that the server has room for another one.
func (s *session) close() {
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	if s.conn.Write(ctx, websocket.MessageText, rl.CanonicalJSON(request{Type: "close"})) == nil {
		select {
		case <-s.gone: // the server answers with the close of its socket
		case <-ctx.Done():
		}
	}
	s.abandon()
}

// abandon ends the session without a word.
func (s *session) abandon() {
	close(s.quit)
	s.conn.CloseNow()
	<-s.gone
}
