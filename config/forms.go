package config

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/longhaul-rl/longhaul/rl"
)

// form is a text that is neither free nor one of a list.
type form struct {
	expects string
	pattern string // for the schema; may allow more than holds does
	holds   func(string) bool
}

const (
	versionForm  = `^[a-z0-9][a-z0-9._-]{0,62}@[0-9]{1,6}$`
	variableForm = `^[A-Z_][A-Z0-9_]{0,63}$`
	storeForm    = `^s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[A-Za-z0-9!_.*'()/-]*)?$`
)

var (
	runName = form{
		expects: "1 to 63 of a-z 0-9 . _ - that start with a letter or a digit",
		pattern: `^[a-z0-9][a-z0-9._-]{0,62}$`,
		holds:   func(s string) bool { return rl.RunID(s).Valid() },
	}
	serverURL = form{
		expects: "an http:// or https:// URL without user, password, query or fragment",
		pattern: `^https?://[^\s?#@]+$`,
		holds:   isServerURL,
	}
	serverURLs = form{
		expects: "http:// or https:// URLs without user, password, query or fragment, each once, separated by commas",
		pattern: `^https?://[^\s?#@,]+(\s*,\s*https?://[^\s?#@,]+)*$`,
		holds: func(s string) bool {
			seen := map[string]bool{}
			for one := range strings.SplitSeq(s, ",") {
				one = strings.TrimSuffix(strings.TrimSpace(one), "/")
				if !isServerURL(one) || seen[one] {
					return false
				}
				seen[one] = true
			}
			return true
		},
	}
	directory = form{
		expects: "an absolute path",
		pattern: `^/[^\n\r]*$`,
		holds:   func(s string) bool { return strings.HasPrefix(s, "/") && !strings.ContainsAny(s, "\n\r") },
	}
	oneLine = form{
		expects: "one line of text (never a key)",
		pattern: `^[^\n\r]*$`,
		holds:   func(s string) bool { return !strings.ContainsAny(s, "\n\r") && !keyPattern.MatchString(s) },
	}
	words = form{
		expects: "text (never a key) of at most 20,000 bytes",
		pattern: `^[\s\S]*$`,
		holds:   func(s string) bool { return len(s) <= 20_000 && !keyPattern.MatchString(s) },
	}
	jobTemplate = form{
		expects: "a batch/v1 Job in YAML of at most 20,000 bytes, whose secrets are named by valueFrom (the run keeps this text)",
		pattern: words.pattern,
		holds:   func(s string) bool { return words.holds(s) && !writtenPattern.MatchString(s) },
	}
	// Upper case only: a pasted key nearly always has a small letter, and must not pass as a name.
	variable = form{
		expects: "the name of an environment variable in capitals, such as OPENAI_API_KEY (never the key itself)",
		pattern: variableForm,
		holds:   func(s string) bool { return variablePattern.MatchString(s) && !secret(s) },
	}
	promote = form{
		expects: "METRIC >= best [+|- NUMBER], with METRIC one of success, greedy, sampled",
		pattern: `^\s*(success|greedy|sampled)\s*>=\s*best\s*([+-]\s*([0-9]+(\.[0-9]*)?|\.[0-9]+)\s*)?$`,
		holds:   func(s string) bool { _, err := rl.ParsePromote(s); return err == nil },
	}
	startsFrom = form{
		expects: "best(RUN) or RUN@VERSION, such as best(orders-1) or orders-1@000012",
		pattern: rl.StartPattern,
		holds:   func(s string) bool { _, err := rl.ParseStart(s); return err == nil },
	}
	version = form{
		expects: "RUN@VERSION, such as orders-1@000012",
		pattern: versionForm,
		holds:   func(s string) bool { return versionPattern.MatchString(s) },
	}
	storeURI = form{
		expects: "s3://bucket or s3://bucket/prefix",
		pattern: storeForm,
		holds:   func(s string) bool { return bucketPattern.MatchString(s) && !strings.Contains(s[5:], "//") },
	}

	versionPattern  = regexp.MustCompile(versionForm)
	variablePattern = regexp.MustCompile(variableForm)
	bucketPattern   = regexp.MustCompile(storeForm)
	keyPattern      = regexp.MustCompile(`(?i)(^|[^a-z0-9])(sk|pk|rk|xai|hf|gh[pousr]|github_pat|glpat|npm|pypi|tml|nvapi|gsk|r8)[-_][a-z0-9_-]{8,}` +
		`|AKIA[A-Z0-9]{12,}|ASIA[A-Z0-9]{12,}|AIza[A-Za-z0-9_-]{20,}|eyJ[A-Za-z0-9_-]{10,}\.|://[^/\s@]*:[^/\s@]*@`)
	// writtenPattern finds, in a list of environment variables, the value of one that by its name is a secret.
	writtenPattern = regexp.MustCompile(`(?i)\bname"?:\s*["']?\w*(secret\w*|password|passwd|token|_key|credentials?)["']?\s*(,|\n)\s*"?value"?:[ \t]*\S`)
	wordPattern    = regexp.MustCompile(`[A-Za-z0-9+/=]{32,}`)
)

// secret guesses whether a text is or holds a credential; such a text is never repeated in a message.
func secret(s string) bool { return keyPattern.MatchString(s) || wordPattern.MatchString(s) }

func isServerURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" &&
		u.User == nil && !strings.ContainsAny(s, "?#@ ")
}
