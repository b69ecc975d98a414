package config

import "strings"

// nearest is the name that a mistyped word most likely stands for, or "" when none is near enough.
func nearest(word string, names []string) string {
	word = strings.ToLower(strings.ReplaceAll(word, "-", "_"))
	if len(word) > 64 {
		return ""
	}
	best, at, kept := "", 1+max(1, len(word)/3), 0
	for _, n := range names {
		d, k := distance(word, strings.ToLower(n)), ends(word, strings.ToLower(n))
		if d < at || d == at && best != "" && k > kept {
			best, at, kept = n, d, k
		}
	}
	return best
}

// ends counts the letters that two words share at their beginnings and at their ends: of names that are equally far,
// the one that a letter is missing from is meant, not the one that another letter stands in (updats is updates).
func ends(a, b string) (n int) {
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	for i := 1; n < min(len(a), len(b)) && a[len(a)-i] == b[len(b)-i]; i++ {
		n++
	}
	return n
}

// distance counts the insertions, deletions, replacements and swaps of neighbours between two words (optimal string
// alignment; https://en.wikipedia.org/wiki/Damerau-Levenshtein_distance).
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			replace := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			rows[i][j] = min(replace, rows[i-1][j]+1, rows[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}

// meant says which key an unknown one probably is: a near name beside it, else the same or a near name elsewhere.
func meant(key string, in *field) string {
	if n := nearest(key, in.keys()); n != "" {
		return "did you mean " + n + "?"
	}
	if key == "api_key" || key == "key" || key == "token" || key == "secret" {
		return "name an environment variable with policy.api_key_env"
	}
	var places []string
	for _, f := range leaves {
		if f.key == key || f.path == key {
			places = append(places, f.path)
		}
	}
	for _, f := range root.fields {
		if f.kind == section && f.key == key {
			places = append(places, f.path)
		}
	}
	if len(places) > 0 {
		return "did you mean " + listed(places, "or") + "?"
	}
	return ""
}
