/** 404 means nobody: it is said only by who knows of everybody that has joined by now. */
import type { WithUser } from "../access/auth/user.ts";
import type { ApiResponse } from "../serving/http/message.ts";
import { isReason, serviceUnavailable } from "../meta/status-error.ts";

type Answering = (request: WithUser) => ApiResponse | undefined;

/** Asks again after catching up, when the first answer would be 404. */
export function freshBeforeNotFound(
  answering: Answering,
  catchUp: () => Promise<boolean>,
): (request: WithUser) => ApiResponse | Promise<ApiResponse> | undefined {
  const again = async (request: WithUser): Promise<ApiResponse> => {
    if (!(await catchUp()))
      throw serviceUnavailable("this server cannot tell now whether a server has joined that serves it", 1);
    return answering(request)!;
  };
  return (request) => {
    try {
      const answer = answering(request);
      return answer?.status === 404 ? again(request) : answer;
    } catch (thrown) {
      if (isReason(thrown, "NotFound")) return again(request);
      throw thrown;
    }
  };
}
