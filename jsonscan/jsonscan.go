// Package jsonscan reads JSON of an expected form several times as fast as encoding/json, and gives up on any other.
//
// The policy client and the embedded policy server exchange JSON that they both write, every turn of every episode,
// and it always looks the same. A Scanner takes the shortest way through text of that form. It never decides what is
// an error: whatever it does not expect (space between tokens, an unknown or repeated member, null, a number out of
// range, bad syntax) makes Done false, and the caller reads the text again with encoding/json, which knows all of
// JSON and names its faults. So what Scanner accepts must be what encoding/json gives; fuzz the two against each
// other wherever it is used.
//
// Read scanner.go first, then values.go.
package jsonscan
