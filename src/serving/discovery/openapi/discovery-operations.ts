/** Lists the OpenAPI operations of the paths that are not resources: discovery, the version and OpenID documents. */
import { must } from "../../../base/assert.ts";
import type { Catalog } from "../../../objects/catalog/catalog.ts";
import { metaModel, OBJECT_TYPES, responsesOf, type ResponseContent, type OpenApiOperation } from "./operation.ts";
import { groupTag, pascal, tagOf } from "./operation-names.ts";
import { groupVersionRoot } from "./operations.ts";

/** The operation that returns the versions of the core group. */
export function coreOperation({ schemas }: Catalog): OpenApiOperation {
  const content = metaModel(schemas, "APIVersions");
  return discovery({ path: "/api/", operationId: "getCoreAPIVersions", tag: "core", content });
}

/** The operation that lists the groups. */
export function groupsOperation({ schemas }: Catalog): OpenApiOperation {
  const content = metaModel(schemas, "APIGroupList");
  return discovery({ path: "/apis/", operationId: "getAPIVersions", tag: "apis", content });
}

export function groupOperation({ schemas }: Catalog, group: string): OpenApiOperation {
  const content = metaModel(schemas, "APIGroup");
  return discovery({
    path: `/apis/${group}/`,
    operationId: `get${pascal(group)}APIGroup`,
    tag: groupTag(group),
    content,
  });
}

export function resourceListOperation({ schemas }: Catalog, group: string, version: string): OpenApiOperation {
  return discovery({
    path: `${groupVersionRoot(group, version)}/`,
    operationId: `get${pascal(group)}${pascal(version)}APIResources`,
    tag: tagOf(group, version),
    content: metaModel(schemas, "APIResourceList"),
  });
}

const JSON_TYPE: readonly string[] = ["application/json"];

export function versionOperation({ schemas }: Catalog): OpenApiOperation {
  const content = must(schemas.struct("io.k8s.apimachinery.pkg.version.Info"), "every release has a version");
  const operation = discovery({ path: "/version/", operationId: "getCodeVersion", tag: "version", content });
  return { ...operation, consumes: JSON_TYPE, produces: JSON_TYPE };
}

export function openIdConfigurationOperation(): OpenApiOperation {
  const operationId = "getServiceAccountIssuerOpenIDConfiguration";
  const operation = discovery({
    path: "/.well-known/openid-configuration/",
    operationId,
    tag: "WellKnown",
    content: "string",
  });
  return { ...operation, consumes: undefined, produces: JSON_TYPE };
}

export function openIdKeysOperation(): OpenApiOperation {
  const operationId = "getServiceAccountIssuerOpenIDKeyset";
  const operation = discovery({ path: "/openid/v1/jwks/", operationId, tag: "openid", content: "string" });
  return { ...operation, consumes: undefined, produces: ["application/jwk-set+json"] };
}

function discovery(
  of: Pick<OpenApiOperation, "path" | "operationId" | "tag"> & { readonly content: ResponseContent },
): OpenApiOperation {
  const { content, ...operation } = of;
  return {
    ...operation,
    method: "get",
    resource: undefined,
    parameters: [],
    consumes: OBJECT_TYPES,
    produces: OBJECT_TYPES,
    body: undefined,
    responses: responsesOf([200], content),
  };
}
