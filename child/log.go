package child

import "log/slog"

// Log hears of what is swept. The command sets it before anything is started; until then nobody hears.
var Log = slog.New(slog.DiscardHandler)
