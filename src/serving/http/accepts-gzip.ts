/** Decides from the request headers whether a response may be compressed with gzip, and names the encoding. */
import type { ResponseHeaders } from "./message.ts";

export function acceptsGzip(acceptEncoding: string | undefined): boolean {
  if (acceptEncoding === undefined || !acceptEncoding.includes("gzip")) return false;
  return acceptEncoding.split(",").some((entry) => {
    const [coding, ...parameters] = entry.split(";");
    return coding?.trim() === "gzip" && !parameters.some((parameter) => /^\s*q=0(\.0*)?\s*$/.test(parameter));
  });
}

export function gzipHeaders(headers: ResponseHeaders): ResponseHeaders {
  const { vary } = headers;
  const listed = vary === undefined ? [] : [vary].flat();
  return { ...headers, "content-encoding": "gzip", vary: [...listed, "Accept-Encoding"].join(", ") };
}
