package store

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/longhaul-rl/longhaul/rl"
)

// PutJSON records v at key unless something is recorded there, and returns what is: v, or what an earlier writer
// left. A stage that is retried so goes on with the record of its first try. What is no JSON at all is damaged, and
// replaced; JSON of another form is not, since another version of this program may have written it.
// Errors: Invalid when v has no JSON form (a NaN), Corrupt when the record has another form, else as Store.Get.
func PutJSON[T any](ctx context.Context, s *Store, key string, v T) (rl.Ref, T, error) {
	body, err := encode(key, v)
	if err != nil {
		return rl.Ref{}, v, err
	}
	ref, recorded, err := s.putFirst(ctx, key, body, func(b []byte) error {
		_, err := decode[json.RawMessage](key, b)
		return err
	})
	if err != nil {
		return ref, v, err
	}
	recordedValue, err := decode[T](key, recorded)
	return ref, recordedValue, err
}

// FindJSON reads the record at key, and its reference. Errors: NotFound, Corrupt, else as Store.Get.
func FindJSON[T any](ctx context.Context, s *Store, key string) (rl.Ref, T, error) {
	ref, body, err := s.Find(ctx, key)
	if err != nil {
		var none T
		return ref, none, err
	}
	v, err := decode[T](key, body)
	return ref, v, err
}

// ChangeJSON replaces the record at key by what change makes of it, by compare-and-swap: change is called again when somebody
// else was faster. Where there is no record, or a damaged one, lost says what it was. Errors: theirs, else as PutJSON, and
// Unavailable when others are faster again and again.
func ChangeJSON[T any](ctx context.Context, s *Store, key string, lost func(context.Context) (T, error), change func(T) (T, error)) (T, error) {
	for range contended {
		body, etag, err := s.get(ctx, key)
		var now T
		if err == nil {
			now, err = decode[T](key, body)
		}
		unmoved := ifMatch(etag)
		switch rl.KindOf(err) {
		case rl.NotFound:
			unmoved = onlyNew
			now, err = lost(ctx)
		case rl.Corrupt:
			now, err = lost(ctx)
		}
		if err == nil {
			now, err = change(now)
		}
		var mine []byte
		if err == nil {
			mine, err = encode(key, now)
		}
		if err != nil || bytes.Equal(mine, body) {
			return now, err
		}
		if err := s.put(ctx, RefOf(key, mine), mine, unmoved); rl.KindOf(err) != rl.Conflict {
			return now, err
		}
	}
	var none T
	return none, rl.Errorf(rl.Unavailable, at(key), "it changed under each of %d writes", contended)
}

// GetJSON reads the record that ref refers to. Errors: NotFound, Corrupt, else as Store.Get.
func GetJSON[T any](ctx context.Context, s *Store, ref rl.Ref) (T, error) {
	body, err := s.GetRef(ctx, ref)
	if err != nil {
		var none T
		return none, err
	}
	return decode[T](ref.Key, body)
}

// encode is v's JSON in one line: fields in the order of their declaration, maps sorted, < and & as they are.
func encode(key string, v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, rl.Errorf(rl.Invalid, at(key), "%T cannot be written as JSON: %w", v, err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func decode[T any](key string, body []byte) (v T, err error) {
	if err := json.Unmarshal(body, &v); err != nil {
		return v, rl.Errorf(rl.Corrupt, at(key), "it is not the JSON of a %T: %w", v, err)
	}
	return v, nil
}
