// Package render turns what a run recorded into plain text for a terminal: a trajectory turn by turn, two of them side
// by side, the live table of updates, evaluations, and the curve of success.
//
// It computes strings from values of package rl and does nothing else: no store, no clock, no terminal. Widths are
// columns of a terminal. Texts that a model or an environment wrote are cleaned first, so that they cannot move the
// cursor or change colours. Command files decide what to show and where it goes.
package render
