package safetensors

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// parseHeader reads the JSON header token by token: unmarshalling into a struct would take keys twice, null,
// wrong case and unknown fields in silence.
func parseHeader(header []byte) (meta map[string]string, found []placed, err error) {
	d := json.NewDecoder(bytes.NewReader(header))
	d.UseNumber()
	err = object(d, func(key string) error {
		if key == metadataKey {
			meta = map[string]string{}
			return object(d, func(k string) error {
				meta[k], err = text(d)
				return err
			})
		}
		t, err := parseTensor(d, key)
		found = append(found, t)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	if rest := bytes.TrimRight(header[d.InputOffset():], " "); len(rest) > 0 {
		return nil, nil, fmt.Errorf("%d bytes after the object", len(rest))
	}
	return meta, found, nil
}

func parseTensor(d *json.Decoder, name string) (t placed, err error) {
	t.Name = name
	var offsets []int
	fields := 0
	err = object(d, func(key string) (err error) {
		fields++
		switch key {
		case "dtype":
			t.DType, err = text(d)
		case "shape":
			t.Shape, err = sizes(d)
		case "data_offsets":
			offsets, err = sizes(d)
		default:
			err = fmt.Errorf("unknown field %q", key)
		}
		return err
	})
	if err == nil && (fields != 3 || len(offsets) != 2) {
		err = fmt.Errorf("want dtype, shape and two data_offsets")
	}
	if err != nil {
		return t, fmt.Errorf("tensor %q: %w", name, err)
	}
	t.from, t.to = offsets[0], offsets[1]
	return t, nil
}

// object reads {...} and calls value for each key, which must read its value. A key may come once.
func object(d *json.Decoder, value func(key string) error) error {
	if err := delim(d, '{'); err != nil {
		return err
	}
	seen := map[string]bool{}
	for d.More() {
		key, err := text(d)
		if err != nil {
			return err
		}
		if seen[key] {
			return fmt.Errorf("key %q comes twice", key)
		}
		seen[key] = true
		if err := value(key); err != nil {
			return err
		}
	}
	return delim(d, '}')
}

func delim(d *json.Decoder, want json.Delim) error {
	t, err := d.Token()
	if err != nil {
		return err
	}
	if t != want {
		return fmt.Errorf("%v where %v should be", t, want)
	}
	return nil
}

func text(d *json.Decoder) (string, error) {
	t, err := d.Token()
	if err != nil {
		return "", err
	}
	s, ok := t.(string)
	if !ok {
		return "", fmt.Errorf("%v where a string should be", t)
	}
	return s, nil
}

// sizes reads an array of integers that are not negative.
func sizes(d *json.Decoder) ([]int, error) {
	if err := delim(d, '['); err != nil {
		return nil, err
	}
	v := []int{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		number, _ := t.(json.Number)
		n, err := strconv.ParseUint(number.String(), 10, strconv.IntSize-1)
		if err != nil {
			return nil, fmt.Errorf("%v where a size should be", t)
		}
		v = append(v, int(n))
	}
	return v, delim(d, ']')
}
