//go:build ignore

// Picture draws what a terminal showed as an SVG:
//
//	longhaul demo 2>&1 | go run scripts/picture.go > docs/demo.svg
//
// Lines are kept as they are; of a long table the middle is left out.
package main

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"log"
	"os"
	"regexp"
	"strings"
	"unicode/utf8"
)

const (
	charWidth, lineHeight, margin = 8, 18, 16
	tableKept                     = 4 // rows kept at each end of the table of updates
)

// row is a line of the table of updates.
var row = regexp.MustCompile(`^ *[0-9]+/[0-9]+ `)

func main() {
	var lines []string
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		lines = append(lines, strings.TrimRight(in.Text(), " "))
	}
	if err := in.Err(); err != nil {
		log.Fatal(err)
	}
	lines = shortened(lines)
	wide := 0
	for _, l := range lines {
		wide = max(wide, utf8.RuneCountInString(l))
	}
	w, h := wide*charWidth+2*margin, len(lines)*lineHeight+2*margin
	fmt.Printf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-label="output of longhaul demo">`+"\n", w, h, w, h)
	fmt.Printf(`<rect width="100%%" height="100%%" rx="8" fill="#14181f"/>` + "\n")
	fmt.Printf(`<g font-family="ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="13" fill="#d7dde6" xml:space="preserve">` + "\n")
	for i, l := range lines {
		if l == "" {
			continue
		}
		fmt.Printf(`<text x="%d" y="%d" textLength="%d" lengthAdjust="spacingAndGlyphs">`, margin, margin+(i+1)*lineHeight-5, utf8.RuneCountInString(l)*charWidth)
		if err := xml.EscapeText(os.Stdout, []byte(strings.ReplaceAll(l, " ", "\u00a0"))); err != nil {
			log.Fatal(err)
		}
		fmt.Println("</text>")
	}
	fmt.Println("</g></svg>")
}

// shortened leaves out the middle of the table of updates.
func shortened(lines []string) (out []string) {
	var table []int
	for i, l := range lines {
		if row.MatchString(l) {
			table = append(table, i)
		}
	}
	if len(table) <= 2*tableKept {
		return lines
	}
	from, to := table[tableKept], table[len(table)-tableKept]
	out = append(out, lines[:from]...)
	out = append(out, "    ...")
	return append(out, lines[to:]...)
}
