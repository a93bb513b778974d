/** The chain of filters that a request passes before it reaches its handler. */
import type { ApiRequest, ApiResponse } from "./message.ts";

/** A handler may also throw before it returns a promise. The filter that turns errors into responses handles both. */
export type Handler<Req> = (request: Req) => Promise<ApiResponse>;

/**
 * A filter declares in its types the properties that it reads from a request and those that it adds. So a chain in a
 * wrong order does not compile.
 */
export type Filter<In, Out extends In = In> = (next: Handler<Out>) => Handler<In>;

/** A filter that reads properties of a request and passes the request on unchanged. */
export type PassingFilter<In> = <Req extends In>(next: Handler<Req>) => Handler<Req>;

interface Chain<First, Last> {
  through<Next extends Last>(filter: Filter<Last, Next>): Chain<First, Next>;
  to(handler: Handler<Last>): Handler<First>;
}

export function chain<Req extends ApiRequest>(): Chain<Req, Req> {
  return link((handler) => handler);
}

function link<First, Last>(wrap: (handler: Handler<Last>) => Handler<First>): Chain<First, Last> {
  return {
    through: (filter) => link((handler) => wrap(filter(handler))),
    to: wrap,
  };
}
