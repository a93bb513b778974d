/**
 * Returns 404 from discovery only after catching up with the newest peer leases or, without peers, with the newest
 * CRDs. Otherwise a group would be reported as absent if only a server that has just joined serves it, or if its CRD
 * was just created.
 */
import type { ApiResponse } from "../http/message.ts";
import { isReason, serviceUnavailable } from "../../meta/status-error.ts";

/**
 * If the first response of `respond` is 404, catches up and calls `respond` again. Returns 503 if the server cannot
 * catch up.
 */
export function freshBeforeNotFound<Req>(
  respond: (request: Req) => ApiResponse | undefined,
  catchUp: () => Promise<boolean>,
): (request: Req) => ApiResponse | Promise<ApiResponse> | undefined {
  const again = async (request: Req): Promise<ApiResponse> => {
    const isUpToDate = await catchUp();
    const response = isUpToDate ? respond(request) : undefined;
    if (response === undefined)
      throw serviceUnavailable(
        "this server has not caught up with the newest peer leases, so another server may serve this path; retry",
        1,
      );
    return response;
  };
  return (request) => {
    try {
      const response = respond(request);
      return response?.status === 404 ? again(request) : response;
    } catch (thrown) {
      if (isReason(thrown, "NotFound")) return again(request);
      throw thrown;
    }
  };
}
