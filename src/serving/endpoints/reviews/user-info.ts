/** Converts a user to UserInfo of authentication.k8s.io. */
import type { JsonObject } from "../../../meta/json.ts";
import type { RequestUser } from "../../registry/create.ts";

export function userInfo({ name, uid, groups, extra }: RequestUser): JsonObject {
  return {
    ...(name === "" ? {} : { username: name }),
    ...(uid === "" ? {} : { uid }),
    ...(groups.length === 0 ? {} : { groups }),
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  };
}
