/**
 * The arguments with which other programs start kube-apiserver. PKI is a directory with certificates and keys, ETCD the
 * URL of etcd; the HTTPS port is a free one.
 */

export interface ArgumentList {
  readonly name: string;
  /** Where the list comes from, in Markdown. */
  readonly source: string;
  readonly flags: readonly string[];
  /** The names of the flags that the server ignores with a warning. */
  readonly withoutEffect: readonly string[];
}

const KUBELET_FLAGS: readonly string[] = [
  "kubelet-client-certificate",
  "kubelet-client-key",
  "kubelet-preferred-address-types",
];

const KUBEADM: readonly string[] = [
  "--advertise-address=192.0.2.10",
  "--allow-privileged=true",
  "--authorization-mode=Node,RBAC",
  "--client-ca-file=PKI/ca.crt",
  "--enable-admission-plugins=NodeRestriction",
  "--enable-bootstrap-token-auth=true",
  "--etcd-cafile=PKI/ca.crt",
  "--etcd-certfile=PKI/client.crt",
  "--etcd-keyfile=PKI/client.key",
  "--etcd-servers=ETCD",
  "--kubelet-client-certificate=PKI/client.crt",
  "--kubelet-client-key=PKI/client.key",
  "--kubelet-preferred-address-types=InternalIP,ExternalIP,Hostname",
  "--proxy-client-cert-file=PKI/client.crt",
  "--proxy-client-key-file=PKI/client.key",
  "--requestheader-allowed-names=front-proxy-client",
  "--requestheader-client-ca-file=PKI/front-proxy-ca.crt",
  "--requestheader-extra-headers-prefix=X-Remote-Extra-",
  "--requestheader-group-headers=X-Remote-Group",
  "--requestheader-username-headers=X-Remote-User",
  "--secure-port=0",
  "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
  "--service-account-key-file=PKI/sa.pub",
  "--service-account-signing-key-file=PKI/sa.key",
  "--service-cluster-ip-range=10.96.0.0/12",
  "--tls-cert-file=PKI/apiserver.crt",
  "--tls-private-key-file=PKI/apiserver.key",
];

function replaced(flags: readonly string[], ...others: readonly string[]): string[] {
  const names = new Set(others.map((flag) => flag.split("=")[0]));
  return [...flags.filter((flag) => !names.has(flag.split("=")[0])), ...others];
}

const K3S: readonly string[] = [
  "--advertise-address=192.0.2.10",
  "--advertise-port=6443",
  "--allow-privileged=true",
  "--anonymous-auth=false",
  "--api-audiences=https://kubernetes.default.svc.cluster.local,k3s",
  "--authorization-mode=Node,RBAC",
  "--bind-address=127.0.0.1",
  "--cert-dir=PKI/temporary-certs",
  "--client-ca-file=PKI/ca.crt",
  "--egress-selector-config-file=PKI/egress-selector-config.yaml",
  "--enable-admission-plugins=NodeRestriction",
  "--enable-aggregator-routing=true",
  "--enable-bootstrap-token-auth=true",
  "--etcd-cafile=PKI/ca.crt",
  "--etcd-certfile=PKI/client.crt",
  "--etcd-keyfile=PKI/client.key",
  "--etcd-servers=ETCD",
  "--kubelet-certificate-authority=PKI/ca.crt",
  "--kubelet-client-certificate=PKI/client.crt",
  "--kubelet-client-key=PKI/client.key",
  "--kubelet-preferred-address-types=InternalIP,ExternalIP,Hostname",
  "--profiling=false",
  "--proxy-client-cert-file=PKI/client.crt",
  "--proxy-client-key-file=PKI/client.key",
  "--requestheader-allowed-names=system:auth-proxy",
  "--requestheader-client-ca-file=PKI/front-proxy-ca.crt",
  "--requestheader-extra-headers-prefix=X-Remote-Extra-",
  "--requestheader-group-headers=X-Remote-Group",
  "--requestheader-username-headers=X-Remote-User",
  "--secure-port=0",
  "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
  "--service-account-key-file=PKI/sa.pub",
  "--service-account-signing-key-file=PKI/sa.key",
  "--service-cluster-ip-range=10.43.0.0/16",
  "--service-node-port-range=30000-32767",
  "--storage-backend=etcd3",
  "--tls-cert-file=PKI/apiserver.crt",
  "--tls-private-key-file=PKI/apiserver.key",
  "--v=2",
  "--vmodule=httplog=3",
];

const ENVTEST: readonly string[] = [
  "--allow-privileged=true",
  "--authorization-mode=RBAC",
  "--bind-address=127.0.0.1",
  "--cert-dir=PKI",
  "--client-ca-file=PKI/ca.crt",
  "--disable-admission-plugins=ServiceAccount",
  "--etcd-servers=ETCD",
  "--secure-port=0",
  "--service-account-issuer=https://127.0.0.1:6443/",
  "--service-account-key-file=PKI/sa-signer.crt",
  "--service-account-signing-key-file=PKI/sa-signer.key",
  "--service-cluster-ip-range=10.0.0.0/24",
];

export const ARGUMENT_LISTS: readonly ArgumentList[] = [
  {
    name: "kubeadm",
    source: "the manifest of the static pod of 1.36, with etcd on the same machine",
    flags: KUBEADM,
    withoutEffect: KUBELET_FLAGS,
  },
  {
    name: "kind",
    source: "those of kubeadm, with an empty `--runtime-config` and two IP families",
    flags: replaced(
      KUBEADM,
      "--feature-gates=KubeletInUserNamespace=true",
      "--runtime-config=",
      "--service-cluster-ip-range=10.96.0.0/16,fd00:10:96::/112",
    ),
    withoutEffect: KUBELET_FLAGS,
  },
  {
    name: "minikube",
    source: "those of kubeadm, with its list of admission plugins",
    flags: replaced(
      KUBEADM,
      "--enable-admission-plugins=NamespaceLifecycle,LimitRanger,ServiceAccount,DefaultStorageClass,DefaultTolerationSeconds,NodeRestriction,MutatingAdmissionWebhook,ValidatingAdmissionWebhook,ResourceQuota",
    ),
    withoutEffect: KUBELET_FLAGS,
  },
  {
    name: "k3s",
    source: "`pkg/daemons/control/server.go`, with etcd as the datastore",
    flags: K3S,
    withoutEffect: ["kubelet-certificate-authority", ...KUBELET_FLAGS, "vmodule"],
  },
  {
    name: "RKE2",
    source: "those of k3s, with the policies of the profile `cis`",
    flags: replaced(
      K3S.filter((flag) => !flag.startsWith("--advertise-port=")),
      "--admission-control-config-file=PKI/rke2-pss.yaml",
      "--audit-log-maxage=30",
      "--audit-log-maxbackup=10",
      "--audit-log-maxsize=100",
      "--audit-log-path=PKI/audit.log",
      "--audit-policy-file=PKI/audit-policy.yaml",
      "--service-account-extend-token-expiration=false",
    ),
    withoutEffect: ["kubelet-certificate-authority", ...KUBELET_FLAGS, "vmodule"],
  },
  {
    name: "envtest",
    source: "controller-runtime 0.24; the certificate is in `--cert-dir`",
    flags: ENVTEST,
    withoutEffect: [],
  },
  {
    name: "envtest, with flags of public suites",
    source: "as above",
    flags: [
      ...ENVTEST,
      "--advertise-address=127.0.0.1",
      "--delete-collection-workers=4",
      "--enable-admission-plugins=OwnerReferencesPermissionEnforcement",
      "--feature-gates=MutatingAdmissionPolicy=true",
      "--max-mutating-requests-inflight=0",
      "--max-requests-inflight=0",
      "--enable-priority-and-fairness=false",
      "--runtime-config=admissionregistration.k8s.io/v1beta1=true,api/alpha=true",
      "--token-auth-file=PKI/tokens.csv",
      "-v=1",
    ],
    withoutEffect: ["delete-collection-workers"],
  },
];
