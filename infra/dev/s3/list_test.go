package s3_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"pgregory.net/rapid"
)

// Whatever the keys, prefix, delimiter and page size, the pages together are what sorting and grouping the keys
// gives.
func TestListLikeModel(t *testing.T) {
	c := near(open(t, t.TempDir()))
	bucket := 0
	rapid.Check(t, func(r *rapid.T) {
		bucket++
		name := aws.String("bucket" + strings.Repeat("x", bucket%50))
		name = aws.String(*name + string(rune('a'+bucket/50)))
		key := rapid.StringMatching(`[ab/é]{1,5}`).Filter(func(k string) bool { return !strings.HasPrefix(k, "/") })
		keys := rapid.SliceOfNDistinct(key, 0, 12, rapid.ID).Draw(r, "keys")
		for _, k := range keys {
			if _, err := c.PutObject(t.Context(), &sdk.PutObjectInput{Bucket: name, Key: &k}); err != nil {
				r.Fatal(err)
			}
		}
		prefix := rapid.StringMatching(`[ab/é]{0,2}`).Draw(r, "prefix")
		delimiter := rapid.SampledFrom([]string{"", "/", "a"}).Draw(r, "delimiter")
		after := rapid.StringMatching(`[ab/é]{0,3}`).Draw(r, "after")
		in := &sdk.ListObjectsV2Input{Bucket: name, Prefix: &prefix, MaxKeys: aws.Int32(int32(rapid.IntRange(1, 4).Draw(r, "page")))}
		if delimiter != "" {
			in.Delimiter = &delimiter
		}
		if after != "" {
			in.StartAfter = &after
		}
		var got []string
		for p := sdk.NewListObjectsV2Paginator(c, in); p.HasMorePages(); {
			page, err := p.NextPage(t.Context())
			if err != nil {
				r.Fatal(err)
			}
			if n := len(page.Contents) + len(page.CommonPrefixes); n > int(*in.MaxKeys) {
				r.Fatalf("a page of %d, asked for %d", n, *in.MaxKeys)
			}
			for _, o := range page.Contents {
				got = append(got, *o.Key)
			}
			for _, p := range page.CommonPrefixes {
				got = append(got, *p.Prefix)
			}
		}
		slices.Sort(got) // a page tells objects and groups apart
		if want := listing(keys, prefix, delimiter, after); !slices.Equal(got, want) {
			r.Fatalf("got %q, want %q", got, want)
		}
	})
}

// listing is the model: sort, group, leave out what does not sort after the marker.
func listing(keys []string, prefix, delimiter, after string) (names []string) {
	for _, k := range keys {
		rest, ok := strings.CutPrefix(k, prefix)
		if !ok {
			continue
		}
		if head, _, found := strings.Cut(rest, delimiter); found && delimiter != "" {
			k = prefix + head + delimiter
		}
		if after == "" || k > after {
			names = append(names, k)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
