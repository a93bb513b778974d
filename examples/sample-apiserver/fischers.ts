/** Fischers: a cluster-scoped resource with one version, which needs nothing but a schema. */
import type { ResourceDefinition } from "evenkeel";

export const fischers: ResourceDefinition = {
  group: "wardle.example.com",
  names: { plural: "fischers", kind: "Fischer" },
  scope: "Cluster",
  versions: [
    {
      name: "v1alpha1",
      schema: {
        type: "object",
        description: "Fischer lists flunders that are disallowed.",
        properties: {
          disallowedFlunders: {
            type: "array",
            description: "Names of flunders that are disallowed.",
            items: { type: "string" },
          },
        },
      },
    },
  ],
};
