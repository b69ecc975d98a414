package config

import (
	"encoding"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"
)

var wholePattern = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)

// readsText reports whether the field is written as a YAML text rather than a number.
func (f *field) readsText() bool { return f.kind == text || f.kind == duration || f.kind == taskRange }

// set writes a value given as text into v, the field's place in a config. It is the one reader of values, of a file
// and of a command line. When the text is not of the field's type, v stays and hint may say why.
func (f *field) set(v reflect.Value, raw string) (hint string, ok bool) {
	switch f.kind {
	case text:
		v.SetString(raw)
	case whole, seed:
		return f.setWhole(v, raw)
	case number:
		x, err := strconv.ParseFloat(raw, 64)
		if !numberPattern.MatchString(raw) || err != nil || math.IsInf(x, 0) {
			return "", false
		}
		v.SetFloat(x)
	default:
		return "", v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(raw)) == nil
	}
	return "", true
}

func (f *field) setWhole(v reflect.Value, raw string) (hint string, ok bool) {
	if !wholePattern.MatchString(raw) {
		if numberPattern.MatchString(raw) {
			hint = "digits only, no leading zero, point or exponent"
		}
		return hint, false
	}
	x, err := strconv.ParseInt(raw, 10, 64)
	if err != nil || f.kind == seed && x < 0 {
		return "", false
	}
	if f.kind == seed {
		v.SetUint(uint64(x))
	} else {
		v.SetInt(x)
	}
	return "", true
}

// show is the value of the field in a config, as it is written in run.yaml (without quotes).
func (f *field) show(v reflect.Value) string {
	switch f.kind {
	case text:
		return v.String()
	case number:
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	case whole:
		return strconv.FormatInt(v.Int(), 10)
	case seed:
		return strconv.FormatUint(v.Uint(), 10)
	case duration: // "30m", not Go's "30m0s"
		s := time.Duration(v.Int()).String()
		if strings.HasSuffix(s, "m0s") {
			s = strings.TrimSuffix(s, "0s")
		}
		if strings.HasSuffix(s, "h0m") {
			s = strings.TrimSuffix(s, "0m")
		}
		return s
	}
	b, err := v.Interface().(encoding.TextMarshaler).MarshalText()
	if err != nil {
		panic("config: " + f.path + ": " + err.Error()) // durations and ranges always have a text
	}
	return string(b)
}
