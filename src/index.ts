/** The library: builds API servers for one's own resources. */
export { readKubeconfigs } from "./client/kubeconfig.ts";
export { invalidValue, required } from "./meta/field-errors.ts";
export type { JsonObject } from "./meta/json.ts";
export { StatusError, type FieldError } from "./meta/status-error.ts";
export type * from "./extensions/library/resource-definition.ts";
export {
  createApiServer,
  type ApiServer,
  type ApiServerAuthentication,
  type ApiServerListen,
  type ApiServerOptions,
} from "./server/library/create-api-server.ts";
