// Evaluates flags with OpenFeature's SDK for Go and prints what it got: main URL KEY FLAG VISITOR
package main

import (
	"context"
	"encoding/json"
	"os"

	"github.com/open-feature/go-sdk-contrib/providers/ofrep"
	"github.com/open-feature/go-sdk/openfeature"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	url, key, flag, visitor := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	must(openfeature.SetProviderAndWait(ofrep.NewProvider(url, ofrep.WithApiKeyAuth(key))))
	client := openfeature.NewClient("shop")
	ctx := context.Background()
	split, err := client.BooleanValueDetails(ctx, flag, false, openfeature.NewEvaluationContext(visitor, nil))
	must(err)
	staff := openfeature.NewEvaluationContext(visitor+"-staff", map[string]any{"plan": "staff"})
	targeted, err := client.BooleanValueDetails(ctx, flag, false, staff)
	must(err)
	unknown, _ := client.BooleanValueDetails(ctx, "unknown", true, staff)
	must(json.NewEncoder(os.Stdout).Encode(map[string]any{
		"split": map[string]any{
			"variant": split.Variant, "reason": split.Reason, "ruleId": split.FlagMetadata["ruleId"],
		},
		"targeted": map[string]any{
			"value": targeted.Value, "variant": targeted.Variant, "reason": targeted.Reason,
		},
		"unknown": map[string]any{"value": unknown.Value, "errorCode": unknown.ErrorCode},
	}))
}
