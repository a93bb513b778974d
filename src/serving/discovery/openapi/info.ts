/** The title and version of the OpenAPI documents of built-in resources. */
import type { Catalog } from "../../../objects/catalog/catalog.ts";
import { gatesOf } from "../../../objects/catalog/release-gates.ts";
import type { JsonObject } from "../../../meta/json.ts";

export function documentInfo({ release }: Catalog): JsonObject {
  const hasRelease = gatesOf(release.name).isOn("OpenAPIInfoWithRelease");
  return { title: "Kubernetes", version: hasRelease ? release.name : release.gitVersion };
}
