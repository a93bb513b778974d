/** Converts an API request and each of its writes to the attributes that plugins receive. */
import type { RequestAdmission } from "../../../serving/endpoints/resources.ts";
import type { Admission, AdmittedWrite } from "../../../serving/registry/admission.ts";
import type { WithUser } from "../../auth/user.ts";
import type { AdmissionRequest } from "../admission.ts";
import type { AdmitRequest } from "../admit.ts";
import type { Versions } from "./object-versions.ts";
import type { WithStatus } from "./status-zeros.ts";

export function admissionRequest(request: WithUser, about: RequestAdmission, versions: Versions): AdmissionRequest {
  const { info, user, signal, audit } = request;
  const { served, options, dryRun, warn } = about;
  const groupVersion = { group: info.group, version: info.version };
  const kind = { ...about.kind.groupVersion, kind: about.kind.kind };
  const isOwnKind = about.kind.kind === served.kind && about.kind.groupVersion.group === served.groupVersion.group;
  return {
    user,
    groupVersion,
    resource: info.resource,
    subresource: info.subresource,
    kind,
    namespace: info.resource === "namespaces" && info.group === "" ? info.name : info.namespace,
    options,
    dryRun,
    warn,
    signal,
    versions: versions.of({ groupVersion, resource: info.resource, kind, isOwnKind }),
    annotate: (key, value) => audit?.annotate(key, value),
  };
}

export function writeByWrite(asked: AdmitRequest, base: AdmissionRequest, withStatus: WithStatus): Admission {
  // Nearly all writes have the attributes of the request, so the plugins for it are determined once.
  let ofRequest: Admission | undefined;
  const admissionFor = (request: AdmissionRequest): Admission | undefined =>
    request === base ? (ofRequest ??= asked(base)) : asked(request);
  return {
    omitsManagedFields() {
      return admissionFor(base)?.omitsManagedFields?.() === true;
    },
    async mutate(write) {
      const admission = admissionFor(requestFor(base, write));
      if (admission === undefined) return write.object;
      const shown = withStatus(write.object);
      const object = await admission.mutate({ ...write, object: shown });
      return object === shown ? write.object : object;
    },
    async validate(write) {
      const object = write.object && withStatus(write.object);
      await admissionFor(requestFor(base, write))?.validate({ ...write, object });
    },
  };
}

/**
 * As kubernetes: the namespace of a created Namespace is its own name, and an update that creates the object has
 * CreateOptions.
 */
function requestFor(base: AdmissionRequest, { operation, name }: AdmittedWrite): AdmissionRequest {
  if (operation !== "CREATE") return base;
  const { groupVersion, resource, options } = base;
  const isNamespace = resource === "namespaces" && groupVersion.group === "";
  const isUpdate = options?.["kind"] === "UpdateOptions";
  if (!isNamespace && !isUpdate) return base;
  return {
    ...base,
    ...(isNamespace ? { namespace: name } : {}),
    ...(isUpdate ? { options: { ...options, kind: "CreateOptions" } } : {}),
  };
}
