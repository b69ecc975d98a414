package envs

import "log/slog"

// Log hears of what environments start: programs that end, and what they write that nobody asked for. The command sets it before
// anything is opened; until then nobody hears.
var Log = slog.New(slog.DiscardHandler)
