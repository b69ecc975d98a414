package launch

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"unicode/utf8"
)

// awsShapes are what AWS's own service models say of requests and answers; testdata/shapes.py makes the file.
//
//go:embed testdata/aws.json
var awsShapes []byte

// shape is what a value of AWS's APIs must satisfy.
type shape struct {
	Type               string
	Members            map[string]string
	Required, Enum     []string
	Min, Max           *float64
	Pattern            string
	Member, Key, Value string
}

// operation is one call of an API, by its shapes.
type operation struct {
	Input, Output string
	Shapes        map[string]shape
}

// operations are by the header that names them, such as SageMaker.CreateTrainingJob.
var operations = func() map[string]operation {
	var raw map[string]json.RawMessage
	out := map[string]operation{}
	if err := json.Unmarshal(awsShapes, &raw); err != nil {
		panic(err)
	}
	delete(raw, "botocore")
	for name, text := range raw {
		var o operation
		if err := json.Unmarshal(text, &o); err != nil {
			panic(err)
		}
		out[name] = o
	}
	return out
}()

// check says where a JSON value is not of a shape.
func (o operation) check(name, at string, v any) error {
	s, known := o.Shapes[name]
	if !known {
		return fmt.Errorf("%s: there is no shape %q", at, name)
	}
	switch v := v.(type) {
	case map[string]any:
		return o.checkMembers(s, at, v)
	case []any:
		if s.Type != "list" {
			return fmt.Errorf("%s: a list, want a %s", at, s.Type)
		}
		for i, item := range v {
			if err := o.check(s.Member, fmt.Sprintf("%s[%d]", at, i), item); err != nil {
				return err
			}
		}
		return s.within(at, float64(len(v)))
	case string:
		if s.Type != "string" {
			return fmt.Errorf("%s: %q, want a %s", at, v, s.Type)
		}
		if len(s.Enum) > 0 && !slices.Contains(s.Enum, v) {
			return fmt.Errorf("%s: %q is none of its values", at, v)
		}
		if s.Pattern != "" && !regexp.MustCompile(`^(?:`+s.Pattern+`)$`).MatchString(v) {
			return fmt.Errorf("%s: %q does not match %s", at, v, s.Pattern)
		}
		return s.within(at, float64(utf8.RuneCountInString(v)))
	case bool:
		if s.Type != "boolean" {
			return fmt.Errorf("%s: %v, want a %s", at, v, s.Type)
		}
	case float64:
		if !slices.Contains([]string{"integer", "long", "float", "timestamp"}, s.Type) {
			return fmt.Errorf("%s: %v, want a %s", at, v, s.Type)
		}
		return s.within(at, v)
	default:
		return fmt.Errorf("%s: %v, want a %s", at, v, s.Type)
	}
	return nil
}

// checkMembers checks a structure, or a map.
func (o operation) checkMembers(s shape, at string, v map[string]any) error {
	if s.Type != "structure" && s.Type != "map" {
		return fmt.Errorf("%s: an object, want a %s", at, s.Type)
	}
	for _, name := range s.Required {
		if _, given := v[name]; !given {
			return fmt.Errorf("%s: it has no %s", at, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		of := s.Value
		if s.Type == "structure" {
			if of = s.Members[name]; of == "" {
				return fmt.Errorf("%s: it has no member %s", at, name)
			}
		} else if err := o.check(s.Key, at+"'s key", name); err != nil {
			return err
		}
		if err := o.check(of, at+"."+name, v[name]); err != nil {
			return err
		}
	}
	if s.Type == "map" {
		return s.within(at, float64(len(v)))
	}
	return nil
}

func (s shape) within(at string, n float64) error {
	if s.Min != nil && n < *s.Min || s.Max != nil && n > *s.Max {
		return fmt.Errorf("%s: %v is out of its range", at, n)
	}
	return nil
}
