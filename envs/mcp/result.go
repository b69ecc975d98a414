package mcp

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// text is what a tool's result says to the agent: its texts, what else there is in words, and that it is an error where it is one.
func text(r *mcp.CallToolResult) string {
	var parts []string
	for _, c := range r.Content {
		parts = append(parts, contentText(c))
	}
	if len(parts) == 0 && r.StructuredContent != nil {
		if b, err := json.Marshal(r.StructuredContent); err == nil {
			parts = append(parts, string(b))
		}
	}
	if r.NeedsInput() {
		parts = append(parts, "the tool asks for more input, which cannot be given here")
	}
	said := strings.Join(parts, "\n")
	switch {
	case r.IsError:
		return "error: " + said
	case strings.TrimSpace(said) == "":
		return "(no content)"
	}
	return said
}

func contentText(c mcp.Content) string {
	switch c := c.(type) {
	case *mcp.TextContent:
		return c.Text
	case *mcp.ImageContent:
		return fmt.Sprintf("[image, %s, %d bytes]", c.MIMEType, len(c.Data))
	case *mcp.AudioContent:
		return fmt.Sprintf("[audio, %s, %d bytes]", c.MIMEType, len(c.Data))
	case *mcp.ResourceLink:
		return fmt.Sprintf("[resource %s: %s]", c.URI, c.Name)
	case *mcp.EmbeddedResource:
		switch {
		case c.Resource == nil:
			return "[resource]"
		case c.Resource.Text != "":
			return c.Resource.Text
		}
		return fmt.Sprintf("[resource %s, %s, %d bytes]", c.Resource.URI, c.Resource.MIMEType, len(c.Resource.Blob))
	}
	return fmt.Sprintf("[%T]", c)
}
