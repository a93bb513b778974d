/**
 * All flags of the kube-apiservers 1.33 to 1.37, the deprecated ones included, and how `evenkeel serve` handles each of
 * them. The options, warnings and errors of the command and docs/flags.md are made from this table, so no flag of
 * kube-apiserver is an unknown option.
 */
import { ignored, implemented, rejected, since, type FlagSection } from "./flag-handling.ts";

const NO_KUBELETS = "the server does not connect to kubelets";
const NO_OIDC = "the server does not authenticate users by OpenID Connect";
const NO_AUDIT_WEBHOOK = "the server sends no audit events to a webhook; --audit-log-path writes them to a file";
const NO_TOKEN_WEBHOOK = "the server calls no webhook to authenticate tokens";
const NO_AUTHORIZATION_WEBHOOK = "the server calls no authorization webhook";
const NO_ETCD_METRICS = "the server does not poll etcd for metrics";
const NO_PROFILES = "the server has no /debug/pprof";
const SELF_SIZED = "the size of the watch cache follows the stored objects";
const NO_COORDINATION = "the server does not elect the leaders of other components";
const JSON_LOG = "the server logs one JSON object per line to standard error, without a buffer";
const PLUGIN_FLAGS = "set --enable-admission-plugins and --disable-admission-plugins instead";

export const KUBE_APISERVER_FLAGS: readonly FlagSection[] = [
  {
    title: "Generic",
    flags: {
      "advertise-address": implemented(),
      "cors-allowed-origins": ignored("list", "the server sends no CORS headers, so browsers block other origins"),
      "emulated-version": implemented(),
      "emulation-forward-compatible": implemented(),
      "external-hostname": implemented(),
      "feature-gates": implemented("Gates without effect on this server are accepted"),
      "goaway-chance": implemented(),
      "livez-grace-period": ignored("duration", "/livez passes as soon as the server listens", "0"),
      "max-mutating-requests-inflight": implemented(),
      "max-requests-inflight": implemented(),
      "min-compatibility-version": since("1.35", implemented()),
      "min-request-timeout": implemented("0 is rejected"),
      "request-timeout": implemented("0 is rejected"),
      "runtime-config-emulation-forward-compatible": implemented(),
      "shutdown-delay-duration": implemented(),
      "shutdown-send-retry-after": implemented(),
      "shutdown-watch-termination-grace-period": implemented(),
      "storage-initialization-timeout": ignored(
        "duration",
        "the server waits for its store without a time limit, and is not ready before",
      ),
      "strict-transport-security-directives": implemented(),
    },
  },
  {
    title: "Storage",
    flags: {
      "default-watch-cache-size": ignored("integer", SELF_SIZED),
      "delete-collection-workers": ignored("integer", "a deletecollection request deletes 16 objects at once"),
      "enable-garbage-collector": rejected(
        "boolean",
        "deletions always honor the propagation policy; --controllers can turn off the garbage collector",
        "true",
      ),
      "encryption-provider-config": implemented(),
      "encryption-provider-config-automatic-reload": implemented(),
      "etcd-cafile": implemented(),
      "etcd-certfile": implemented(),
      "etcd-compaction-interval": implemented("It applies to the embedded store, too"),
      "etcd-count-metric-poll-period": ignored("duration", NO_ETCD_METRICS, "0"),
      "etcd-db-metric-poll-interval": ignored("duration", NO_ETCD_METRICS, "0"),
      "etcd-healthcheck-timeout": ignored("duration", "/livez does not depend on etcd"),
      "etcd-keyfile": implemented(),
      "etcd-prefix": implemented(),
      "etcd-readycheck-timeout": ignored("duration", "/readyz reports the state of the connection without a request"),
      "etcd-servers": implemented("kube-apiserver requires it"),
      "etcd-servers-overrides": rejected("list", "the server keeps the objects of all resources in one store"),
      "lease-reuse-duration-seconds": ignored(
        "integer",
        "an etcd lease is shared for a twentieth of its duration, at most 60 s",
      ),
      "storage-backend": rejected("text", "the only backend with this flag is etcd3", "etcd3", ""),
      "storage-media-type": ignored(
        "text",
        "the server stores objects as JSON, and reads protobuf",
        "application/json",
      ),
      "watch-cache": ignored("boolean", "the server always reads from its watch cache", "true"),
      "watch-cache-sizes": ignored("list", SELF_SIZED),
    },
  },
  {
    title: "Secure serving",
    flags: {
      "bind-address": implemented("kube-apiserver listens on 0.0.0.0 by default"),
      "cert-dir": implemented("Without it, the files are in the data directory"),
      "disable-http2-serving": implemented(),
      "http2-max-streams-per-connection": implemented(),
      "permit-address-sharing": ignored("boolean", "the server always sets SO_REUSEADDR", "true"),
      "permit-port-sharing": implemented(),
      "secure-port": implemented("kube-apiserver rejects 0"),
      "tls-cert-file": implemented(),
      "tls-cipher-suites": implemented("Suites that OpenSSL does not offer, such as RC4, are rejected"),
      "tls-curve-preferences": since("1.36", implemented()),
      "tls-min-version": implemented("VersionTLS10 and VersionTLS11 have the effect of VersionTLS12"),
      "tls-private-key-file": implemented(),
      "tls-sni-cert-key": implemented("IP addresses never match, because clients do not send them as a server name"),
    },
  },
  {
    title: "Auditing",
    flags: {
      "audit-log-batch-buffer-size": implemented(),
      "audit-log-batch-max-size": implemented(),
      "audit-log-batch-max-wait": implemented(),
      "audit-log-batch-throttle-burst": implemented(),
      "audit-log-batch-throttle-enable": implemented(),
      "audit-log-batch-throttle-qps": implemented(),
      "audit-log-compress": implemented(),
      "audit-log-format": implemented(),
      "audit-log-maxage": implemented(),
      "audit-log-maxbackup": implemented(),
      "audit-log-maxsize": implemented(),
      "audit-log-mode": implemented(),
      "audit-log-path": implemented(),
      "audit-log-truncate-enabled": implemented(),
      "audit-log-truncate-max-batch-size": implemented(),
      "audit-log-truncate-max-event-size": implemented(),
      "audit-log-version": implemented(),
      "audit-policy-file": implemented(),
      "audit-webhook-batch-buffer-size": ignored("integer", NO_AUDIT_WEBHOOK),
      "audit-webhook-batch-initial-backoff": ignored("duration", NO_AUDIT_WEBHOOK),
      "audit-webhook-batch-max-size": ignored("integer", NO_AUDIT_WEBHOOK),
      "audit-webhook-batch-max-wait": ignored("duration", NO_AUDIT_WEBHOOK),
      "audit-webhook-batch-throttle-burst": ignored("integer", NO_AUDIT_WEBHOOK),
      "audit-webhook-batch-throttle-enable": ignored("boolean", NO_AUDIT_WEBHOOK),
      "audit-webhook-batch-throttle-qps": ignored("number", NO_AUDIT_WEBHOOK),
      "audit-webhook-config-file": rejected("text", NO_AUDIT_WEBHOOK, ""),
      "audit-webhook-initial-backoff": ignored("duration", NO_AUDIT_WEBHOOK),
      "audit-webhook-mode": ignored("text", NO_AUDIT_WEBHOOK),
      "audit-webhook-truncate-enabled": ignored("boolean", NO_AUDIT_WEBHOOK),
      "audit-webhook-truncate-max-batch-size": ignored("integer", NO_AUDIT_WEBHOOK),
      "audit-webhook-truncate-max-event-size": ignored("integer", NO_AUDIT_WEBHOOK),
      "audit-webhook-version": ignored("text", NO_AUDIT_WEBHOOK),
    },
  },
  {
    title: "Features",
    flags: {
      "contention-profiling": ignored("boolean", NO_PROFILES, "false"),
      "debug-socket-path": ignored("text", NO_PROFILES, ""),
      "enable-priority-and-fairness": implemented(),
      profiling: ignored("boolean", NO_PROFILES, "false"),
    },
  },
  {
    title: "Authentication",
    flags: {
      "anonymous-auth": implemented(),
      "api-audiences": implemented(),
      "authentication-config": rejected("text", "the server reads no AuthenticationConfiguration", ""),
      "authentication-token-webhook-cache-ttl": ignored("duration", NO_TOKEN_WEBHOOK),
      "authentication-token-webhook-config-file": rejected("text", NO_TOKEN_WEBHOOK, ""),
      "authentication-token-webhook-version": ignored("text", NO_TOKEN_WEBHOOK),
      "client-ca-file": implemented(),
      "enable-bootstrap-token-auth": implemented(),
      "oidc-ca-file": rejected("text", NO_OIDC, ""),
      "oidc-client-id": rejected("text", NO_OIDC, ""),
      "oidc-groups-claim": rejected("text", NO_OIDC, ""),
      "oidc-groups-prefix": rejected("text", NO_OIDC, ""),
      "oidc-issuer-url": rejected("text", NO_OIDC, ""),
      "oidc-required-claim": rejected("list", NO_OIDC, ""),
      "oidc-signing-algs": rejected("list", NO_OIDC, "RS256"),
      "oidc-username-claim": rejected("text", NO_OIDC, "sub"),
      "oidc-username-prefix": rejected("text", NO_OIDC, ""),
      "requestheader-allowed-names": implemented(),
      "requestheader-client-ca-file": implemented(),
      "requestheader-extra-headers-prefix": implemented(),
      "requestheader-group-headers": implemented(),
      "requestheader-uid-headers": implemented(),
      "requestheader-username-headers": implemented(),
      "service-account-extend-token-expiration": implemented(),
      "service-account-issuer": implemented(),
      "service-account-jwks-uri": implemented(),
      "service-account-key-file": implemented(),
      "service-account-lookup": implemented(),
      "service-account-max-token-expiration": implemented(),
      "token-auth-file": implemented(),
    },
  },
  {
    title: "Authorization",
    flags: {
      "authorization-config": rejected("text", "the server reads no AuthorizationConfiguration", ""),
      "authorization-mode": implemented(
        "Webhook and ABAC are rejected. Node is accepted with a warning: it allows nothing",
      ),
      "authorization-policy-file": rejected("text", "the server does not implement the authorization mode ABAC", ""),
      "authorization-webhook-cache-authorized-ttl": ignored("duration", NO_AUTHORIZATION_WEBHOOK),
      "authorization-webhook-cache-unauthorized-ttl": ignored("duration", NO_AUTHORIZATION_WEBHOOK),
      "authorization-webhook-config-file": rejected("text", NO_AUTHORIZATION_WEBHOOK, ""),
      "authorization-webhook-version": ignored("text", NO_AUTHORIZATION_WEBHOOK),
    },
  },
  {
    title: "API enablement",
    flags: {
      "runtime-config": implemented("It also accepts v1 and api/v1 for the core group, and api/legacy"),
    },
  },
  {
    title: "Egress selector",
    flags: {
      "egress-selector-config-file": implemented(
        "Selections with a proxy for other connections have no effect: the server connects directly, and logs a warning",
      ),
    },
  },
  {
    title: "Admission",
    flags: {
      "admission-control": rejected("list", PLUGIN_FLAGS, ""),
      "admission-control-config-file": implemented("The configuration of other plugins is rejected"),
      "default-not-ready-toleration-seconds": implemented(),
      "default-unreachable-toleration-seconds": implemented(),
      "disable-admission-plugins": implemented(),
      "enable-admission-plugins": implemented("Plugins that are not implemented are rejected"),
    },
  },
  {
    title: "Metrics",
    flags: {
      "allow-metric-labels": ignored("list", "the server does not limit the values of metric labels"),
      "allow-metric-labels-manifest": ignored("text", "the server does not limit the values of metric labels", ""),
      "disabled-metrics": ignored("list", "the server cannot disable single metrics"),
      "show-hidden-metrics-for-version": ignored("text", "the server has no hidden metrics", ""),
    },
  },
  {
    title: "Logs",
    flags: {
      "log-flush-frequency": ignored("duration", JSON_LOG),
      "log-json-info-buffer-size": ignored("text", JSON_LOG, "0"),
      "log-json-split-stream": ignored("boolean", JSON_LOG, "false"),
      "log-text-info-buffer-size": ignored("text", JSON_LOG, "0"),
      "log-text-split-stream": ignored("boolean", JSON_LOG, "false"),
      "logging-format": ignored("text", JSON_LOG, "json"),
      v: implemented("0 and 1 log warnings, 2 and 3 also information, 4 and more everything. --log-level overrides it"),
      vmodule: ignored("list", "the log level is the same for all parts of the server", ""),
    },
  },
  {
    title: "Traces",
    flags: { "tracing-config-file": ignored("text", "the server exports no traces", "") },
  },
  {
    title: "Misc",
    flags: {
      "aggregator-reject-forwarding-redirect": ignored(
        "boolean",
        "the server never forwards a redirect of an aggregated API server",
        "true",
      ),
      "allow-privileged": implemented("It is false by default in kube-apiserver"),
      "apiserver-count": ignored("integer", "the reconciler master-count, to which it belongs, is rejected"),
      "coordinated-leadership-lease-duration": since("1.34", ignored("duration", NO_COORDINATION)),
      "coordinated-leadership-renew-deadline": since("1.34", ignored("duration", NO_COORDINATION)),
      "coordinated-leadership-retry-period": since("1.34", ignored("duration", NO_COORDINATION)),
      "enable-aggregator-routing": ignored(
        "boolean",
        "the server always connects to the endpoints of the Service of an aggregated API server",
        "true",
      ),
      "enable-logs-handler": ignored("boolean", "the server does not serve /logs", "false"),
      "endpoint-reconciler-type": implemented("master-count is rejected"),
      "event-ttl": implemented(),
      "kubelet-certificate-authority": ignored("text", NO_KUBELETS, ""),
      "kubelet-client-certificate": ignored("text", NO_KUBELETS, ""),
      "kubelet-client-key": ignored("text", NO_KUBELETS, ""),
      "kubelet-port": ignored("integer", NO_KUBELETS),
      "kubelet-preferred-address-types": ignored("list", NO_KUBELETS),
      "kubelet-read-only-port": ignored("integer", NO_KUBELETS),
      "kubelet-timeout": ignored("duration", NO_KUBELETS),
      "kubernetes-service-node-port": ignored(
        "integer",
        "a new kubernetes Service gets no node port; an existing one keeps its port",
        "0",
      ),
      "max-connection-bytes-per-sec": ignored("integer", "the server does not limit the rate of connections", "0"),
      "peer-advertise-ip": implemented(),
      "peer-advertise-port": implemented(),
      "peer-ca-file": implemented(),
      "proxy-client-cert-file": implemented(),
      "proxy-client-key-file": implemented(),
      "service-account-signing-endpoint": rejected(
        "text",
        "the server signs service account tokens itself; set --service-account-signing-key-file",
        "",
      ),
      "service-account-signing-key-file": implemented(),
      "service-cluster-ip-range": implemented(),
      "service-node-port-range": implemented(),
    },
  },
  {
    title: "Global",
    flags: {
      help: implemented(),
      version: implemented("A version must belong to the release of the server"),
    },
  },
];

/** The flags that earlier kube-apiservers had, and the release that removed each. They are rejected. */
export const REMOVED_FLAGS: ReadonlyMap<string, string> = new Map([
  ["basic-auth-file", "1.19"],
  ["cloud-config", "1.33"],
  ["cloud-provider", "1.33"],
  ["enable-swagger-ui", "1.24"],
  ["experimental-encryption-provider-config", "1.24"],
  ["insecure-bind-address", "1.24"],
  ["insecure-port", "1.24"],
  ["kubelet-https", "1.22"],
  ["target-ram-mb", "1.24"],
]);
