package workers

import (
	"context"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/workflows"
)

// Prepare registers the search attributes of runs in a namespace that lacks them. Errors: Unavailable when Temporal
// does not answer, Refused when it does not let us, with the command that an operator can use.
func Prepare(ctx context.Context, c client.Client, namespace string) error {
	have, err := c.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return rl.Errorf(rl.Unavailable, "Temporal namespace "+namespace, "%w", err)
	}
	missing := map[string]enumspb.IndexedValueType{}
	for _, key := range []temporal.SearchAttributeKey{workflows.RunAttribute, workflows.UpdateAttribute, workflows.StateAttribute} {
		switch kind, ok := have.CustomAttributes[key.GetName()]; {
		case !ok:
			missing[key.GetName()] = key.GetValueType()
		case kind != key.GetValueType():
			return rl.Errorf(rl.Conflict, "Temporal namespace "+namespace, "the search attribute %s is of type %s, not %s", key.GetName(), kind, key.GetValueType())
		}
	}
	if len(missing) == 0 {
		return nil
	}
	if _, err := c.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{Namespace: namespace, SearchAttributes: missing}); err != nil {
		how := ""
		for name, kind := range missing {
			how += fmt.Sprintf("\n  temporal operator search-attribute create --namespace %s --name %s --type %s", namespace, name, kind)
		}
		return rl.Errorf(rl.Refused, "Temporal namespace "+namespace, "search attributes cannot be added (%w); have an operator run:%s", err, how)
	}
	return nil
}
