package store

import (
	"fmt"
	"log/slog"

	"github.com/aws/smithy-go/logging"
)

// sdkLog is where the SDK's own messages go, which it would else write to stderr: to the log, at debug. What of them
// matters comes back as an error as well.
type sdkLog struct{ *slog.Logger }

// Logf takes one message.
func (l sdkLog) Logf(class logging.Classification, format string, args ...any) {
	l.Debug("AWS SDK: "+fmt.Sprintf(format, args...), "class", string(class))
}

// sdk is the SDK's logger; without a Log its messages are dropped.
func (o Options) sdk() logging.Logger {
	if o.Log == nil {
		return logging.Nop{}
	}
	return sdkLog{o.Log}
}
