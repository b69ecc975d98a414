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
