//! Table of programs whose effects depend on a verb.

use super::verb_tools::{ToolDomain, VerbTool};

/// Creates one entry.
pub(super) const fn tool(
    realm: ToolDomain,
    names: &'static str,
    valued: &'static str,
    looks: &'static str,
    works: &'static str,
) -> VerbTool {
    VerbTool { names, realm, valued, looks, works }
}

/// Tools that operate on resources shared with others.
pub(super) const REMOTE_TOOLS: &[VerbTool] = &[
    tool(
        ToolDomain::Cloud,
        "aws awslocal",
        "--endpoint-url --cli-input-json --start-time --end-time --log-group-name --bucket \
         --key",
        ". */describe-* */list-* */get-* */ls */head-* */lookup-* */search-* */wait */tail \
         */filter-* */scan */query */batch-get-* */presign */validate-template */estimate-* \
         */simulate-* */test-* configure/list configure/list-profiles configure/get help \
         sts/get-* */decode-* */help ecr-public/describe-*",
        "",
    ),
    tool(
        ToolDomain::Cloud,
        "gcloud",
        "--account --billing-project --limit --sort-by --configuration --freshness",
        ". */list */describe */*/list */*/describe */*/*/list */*/*/describe config/get-value \
         config/get config/list info version topic */read */*/get-iam-policy */get-iam-policy \
         auth/list components/list */*/tail */tail */*/read help cheat-sheet */search \
         */*/*/tail */*/get-serial-port-output config/configurations/list feedback",
        "",
    ),
    tool(
        ToolDomain::Cloud,
        "az",
        "-g --resource-group --subscription --name --query --ids",
        ". */list */show */*/list */*/show */*/*/list */*/*/show version find help \
         account/show */list-* */*/list-* */*/show-* monitor/*/* */exists */*/exists \
         self-test feedback */check-name */get-upgrades */*/logs */log/tail */*/log/tail \
         */logs/show",
        "",
    ),
    tool(
        ToolDomain::Cloud,
        "gsutil",
        "-o -u",
        ". ls cat stat du hash help version */get acl/get cors/get iam/get lifecycle/get",
        "",
    ),
    tool(
        ToolDomain::Cloud,
        "bq",
        "--project_id --dataset_id --location",
        ". ls show head version help wait",
        "",
    ),
    tool(
        ToolDomain::Cloud,
        "doctl hcloud linode-cli vultr-cli oci ibmcloud scw exo civo upctl yc openstack nova \
         glance neutron cinder swift-cli aliyun tccli",
        "--access-token",
        ". list show get describe version account/get balance/get */list */ls */get */show \
         */describe */*/list */*/ls */*/get */*/show */*/describe */*/*/list */*/*/get ls \
         info help regions plans status target",
        "",
    ),
    tool(
        ToolDomain::Cloud,
        "fly flyctl",
        "-r",
        "status logs apps/list apps/releases releases info version checks/list history doctor \
         platform/* regions/list scale/show volumes/list machine/list machine/status ips/list \
         config/show config/validate secrets/list services/list certs/list certs/show docs \
         help orgs/list orgs/show auth/whoami postgres/list dig ping",
        "",
    ),
    tool(
        ToolDomain::Cloud,
        "heroku",
        "-r --remote -t --team",
        "apps apps:info info logs ps status releases releases:info addons addons:info domains \
         pipelines pipelines:info regions stack version help whoami auth:whoami pg:info \
         pg:diagnose pg:ps pg:locks buildpacks certs features notifications labs maintenance \
         drains access spaces teams orgs webhooks ci plugins keys ps:type",
        "local",
    ),
    tool(
        ToolDomain::Cloud,
        "vercel now netlify surge",
        "-t --token --scope -S --site",
        "ls list logs inspect whoami env/ls domains/ls dns/ls certs/ls teams/ls projects/ls \
         project/ls alias/ls help status sites:list env:list functions:list recipes:list",
        "build dev serve",
    ),
    tool(
        ToolDomain::Cloud,
        "wrangler",
        "-c",
        "whoami tail deployments/list deployments/status versions/list kv/namespace/list \
         kv/key/list r2/bucket/list d1/list d1/info queues/list secret/list \
         pages/project/list pages/deployment/list docs help versions/view",
        "types check build",
    ),
    tool(
        ToolDomain::Cloud,
        "railway render koyeb northflank qovery porter zeabur",
        "-s --service",
        "status logs whoami list docs help version services services/list deploys/list",
        "",
    ),
    tool(
        ToolDomain::Cloud,
        "firebase",
        "-P --token",
        "projects:list apps:list functions:list functions:log hosting:channel:list \
         hosting:sites:list firestore:indexes login:list help apps:sdkconfig",
        "emulators:start serve",
    ),
    tool(
        ToolDomain::Cloud,
        "supabase",
        "--workdir --project-ref",
        "status projects/list branches/list functions/list migration/list secrets/list \
         orgs/list inspect/* db/lint db/diff services help",
        "gen/* init test/*",
    ),
    tool(
        ToolDomain::Cloud,
        "amplify copilot eb chalice zappa up apex-up begin arc sst",
        "",
        "status list env/list logs show svc/ls app/ls app/show svc/show svc/logs svc/status \
         events health diff tail version help",
        "build local",
    ),
    tool(
        ToolDomain::Cloud,
        "sam",
        "-t --template --template-file --stack-name",
        "validate logs list/* --info",
        "build local/* init",
    ),
    tool(
        ToolDomain::Cloud,
        "eksctl kops kubeadm clusterctl talosctl rke k0s k0sctl",
        "--cluster",
        "get version info utils/describe-stacks config/images/list token/list health services \
         logs dmesg memory processes stats containers describe status validate/cluster",
        "",
    ),
    tool(
        ToolDomain::Cloud,
        "argocd",
        "--auth-token --grpc-web-root-path",
        "app/list app/get app/diff app/history app/logs app/manifests app/resources \
         cluster/list cluster/get proj/list proj/get repo/list repo/get version context \
         account/list account/get-user-info appset/list appset/get account/can-i",
        "",
    ),
    tool(
        ToolDomain::Cloud,
        "flux fluxctl",
        "--kubeconfig",
        "get check logs tree version stats events trace diff build export",
        "",
    ),
    tool(
        ToolDomain::Cloud,
        "istioctl linkerd cilium hubble calicoctl kuma kumactl consul-k8s",
        "",
        "version analyze proxy-status ps proxy-config describe profile/list profile/dump \
         validate verify-install check stat top edges routes tap diagnostics status observe \
         list get inspect manifest/generate authz",
        "",
    ),
    tool(
        ToolDomain::Cloud,
        "stern kubetail kail popeye kubent pluto kubectl-neat kube-capacity kubespy",
        "-l --since --tail",
        "* .",
        "",
    ),
    tool(ToolDomain::Cloud, "kubectx kubens", "", ". -c", "*"),
    tool(
        ToolDomain::Containers,
        "kind k3d minikube microk8s colima lima limactl rancher-desktop rdctl",
        "--name -p",
        "get/* cluster/list node/list registry/list status version ip logs profile/list \
         addons/list service/list image/ls list ls info inspect config/view completion \
         update-check",
        "",
    ),
    tool(
        ToolDomain::Containers,
        "buildah img kaniko",
        "",
        "images containers inspect info version",
        "",
    ),
    tool(
        ToolDomain::Network,
        "skopeo crane regctl oras reg",
        "--creds --src-creds",
        "inspect list-tags manifest ls digest config catalog validate version manifest/get \
         tag/ls image/config image/digest image/inspect image/manifest repo/ls repo/tags \
         discover tags",
        "",
    ),
    tool(
        ToolDomain::Containers,
        "ctr crictl",
        "-n -a --address -r",
        "images ps pods info version stats logs inspect inspecti inspectp images/ls image/ls \
         containers/ls container/ls tasks/ls task/ls namespaces/ls plugins/ls statsp",
        "",
    ),
    tool(
        ToolDomain::Containers,
        "lxc incus lxd",
        "",
        "list ls info version image/list network/list storage/list profile/list profile/show \
         config/show remote/list cluster/list network/show storage/show operation/list \
         alias/list project/list",
        "",
    ),
    tool(ToolDomain::Containers, "lxc-ls lxc-info lxc-top", "", "* .", ""),
    tool(
        ToolDomain::Containers,
        "virsh",
        "-c --connect",
        "list dominfo domstate net-list net-info pool-list pool-info vol-list vol-info \
         nodeinfo version uri capabilities dumpxml domblklist domiflist domstats \
         snapshot-list hostname sysinfo domifaddr vcpuinfo help nodedev-list",
        "",
    ),
    tool(
        ToolDomain::Containers,
        "vagrant multipass VBoxManage vboxmanage prlctl vmrun tart utmctl orb orbctl \
         distrobox toolbox flatpak-builder qm pct pvesh xl",
        "",
        "status global-status list ls info version box/list plugin/list port ssh-config \
         validate networks find help get",
        "",
    ),
    tool(
        ToolDomain::Containers,
        "apptainer singularity",
        "",
        "inspect version help cache/list verify sif/list capability/list key/list remote/list \
         search",
        "",
    ),
    tool(ToolDomain::Containers, "qemu-img", "-O -f", "info check map measure compare", ""),
    tool(
        ToolDomain::Cloud,
        "packer",
        "-var -var-file",
        "validate inspect version plugins/installed fix",
        "fmt",
    ),
    tool(
        ToolDomain::Cloud,
        "nomad consul vault bao boundary waypoint",
        "-address -token -region -datacenter -http-addr",
        "status version members info catalog/* operator/raft/list-peers job/status \
         node/status alloc/status alloc/logs deployment/list deployment/status server/members \
         job/plan job/validate job/inspect job/history validate kv/get kv/list list \
         secrets/list auth/list policy/list policy/read token/lookup kv/metadata/get monitor \
         agent-info intention/list acl/policy/list read namespace/list audit/list",
        "fmt job/init",
    ),
    tool(
        ToolDomain::Database,
        "etcdctl zkCli.sh",
        "--endpoints --cacert --cert --key",
        "get endpoint/* member/list version alarm/list watch user/list role/list role/get \
         user/get auth/status ls stat",
        "",
    ),
    tool(
        ToolDomain::Cloud,
        "ansible-inventory ansible-doc ansible-config ansible-lint",
        "-i --inventory -t -l",
        "* .",
        "",
    ),
    tool(
        ToolDomain::Cloud,
        "ansible-galaxy",
        "-r -p",
        "list collection/list role/list search info role/info collection/verify",
        "install collection/install role/install init role/init collection/init role/search",
    ),
    tool(
        ToolDomain::Cloud,
        "ansible-vault ansible-pull ansible-console salt salt-call salt-run salt-ssh salt-key \
         puppet chef knife bolt mco fab pyinfra cdist capistrano cap dokku piku kamal \
         pm2-deploy",
        "",
        "--list list parser/validate module/list resource status node/list node/show \
         cookbook/list -T tasks inventory/show",
        "",
    ),
    tool(
        ToolDomain::Network,
        "rclone",
        "--bwlimit --transfers --checkers --include --exclude --filter",
        "ls lsd lsl lsf lsjson size version listremotes about check cat md5sum sha1sum \
         hashsum tree help ncdu cryptcheck config/file config/paths",
        "",
    ),
    tool(
        ToolDomain::Cloud,
        "s3cmd s4cmd s5cmd mc minio-client b2 azcopy restic borg kopia duplicity rdiff-backup \
         tarsnap duplicacy",
        "-r --repo",
        "ls la du info cat stat snapshots list stats diff find check ls-buckets tree head \
         jobs/list jobs/show help version list-buckets",
        "",
    ),
    tool(
        ToolDomain::Database,
        "kafka-topics kafka-topics.sh kafka-consumer-groups kafka-consumer-groups.sh \
         kafka-acls kafka-configs kafka-configs.sh kafka-acls.sh",
        "--bootstrap-server --zookeeper --topic --group --command-config --entity-type",
        "--list --describe",
        "",
    ),
    tool(
        ToolDomain::Database,
        "rpk kcat kafkacat rabbitmqctl rabbitmqadmin rabbitmq-diagnostics nats pulsar-admin",
        "-b -X --brokers",
        "list_* status cluster_status topic/list topic/describe group/list group/describe \
         cluster/info cluster/health cluster/metadata list show stream/ls stream/info \
         consumer/ls consumer/info server/ping server/info -L ping version environment \
         node_health_check check_running topics/list namespaces/list tenants/list report \
         overview",
        "",
    ),
    tool(
        ToolDomain::Database,
        "influx influxd mysqladmin mariadb-admin mongotop mongostat nodetool",
        "-u -p -h -P --host --user --password --org --bucket --token",
        "ping status extended-status processlist variables version query bucket/list org/list \
         user/list task/list v1/dbrp/list config/list info ring describecluster tpstats \
         compactionstats tablestats netstats gossipinfo gettimeout getendpoints",
        "",
    ),
    tool(
        ToolDomain::Database,
        "pg_isready pg_controldata pg_config pgbadger pt-query-digest pg_top pgcenter",
        "-h -p -U -d",
        "* .",
        "",
    ),
    tool(
        ToolDomain::Database,
        "dbt sqlmesh dataform",
        "--select -s --models -m --profiles-dir --target -t --vars --exclude",
        "ls list debug parse show source/freshness --version",
        "compile deps clean docs/generate init format lint run test build seed snapshot",
    ),
    tool(
        ToolDomain::Database,
        "flyway liquibase dbmate atlas goose migrate golang-migrate sqitch alembic yoyo \
         typeorm sequelize sequelize-cli knex drizzle-kit prisma diesel sqlx refinery \
         sea-orm-cli evolve mikro-orm schemachange migra",
        "-url -path -database -dir -d --database-url",
        "info status history current heads branches validate version migrate/status \
         migrate/diff schema/inspect migrate/lint migration:show migration:list migrate:list \
         migrate:status db:migrate:status show check list log verify plan introspect \
         print-schema migration/list migrate/info migration/status prepare",
        "generate format new add create revision migrate/new migration/generate \
         migration:generate migration:create migrate:make model:generate migration/add \
         schema/fmt generate:* migrate/add merge init upgrade up migrate/up migrate/dev \
         migrate/run migration/run migration:run migrate:latest migrate:up db:migrate apply update \
         migrate migration/up !db/push !migrate/reset !migrate/drop !migrate/down !migrate/redo \
         !migrate/force !migrate/deploy !migrate/undo !migrate/resolve !migrate/fresh",
    ),
    tool(
        ToolDomain::Database,
        "rails rake",
        "-e -g -f",
        ". routes stats notes about middleware -T --tasks -P -D -W db:migrate:status \
         db:version initializers zeitwerk:check",
        "* !db:drop* !db:reset* !db:rollback !db:schema:load !db:structure:load \
         !db:truncate_all !db:purge* !db:migrate:reset !db:migrate:down !db:seed:replant \
         !destroy !d !runner !r !console !c !dbconsole !db !credentials* !secrets* !release* \
         !deploy* !gem:push !assets:clobber",
    ),
    tool(
        ToolDomain::Packages,
        "lerna changeset rush np release-it semantic-release auto shipjs bumpp",
        "--scope --since -m",
        "ls list la ll changed diff explain info status",
        "run bootstrap init add link clean install update build test version rebuild prettier \
         format",
    ),
    tool(
        ToolDomain::Packages,
        "twine flit maturin hatchling setuptools-rust flit_core",
        "-r --repository",
        "check list-python",
        "build develop new init install sdist generate-ci",
    ),
    tool(ToolDomain::Packages, "goreleaser", "-f", "check healthcheck jsonschema", "build init"),
    tool(
        ToolDomain::Network,
        "code-tunnel smbclient mosquitto_pub amqp-publish snmpset telegram-cli slack \
         signal-cli matrix-commander ntfy pushover apprise twilio sendgrid mail-cli himalaya \
         aerc",
        "",
        "list",
        "",
    ),
    tool(
        ToolDomain::Cloud,
        "ngrok-api cloudflare-cli flarectl dnscontrol octodns-sync lego certbot acme.sh \
         tailscale-cli",
        "",
        "certificates plugins preview check list zone/list dns/list show version",
        "",
    ),
    tool(
        ToolDomain::Cloud,
        "snyk sonar-scanner codecov coveralls bito datadog-ci sentry-cli newrelic pd opsgenie \
         grafana-cli gitlab-runner circleci drone buildkite-agent jenkins-cli jfrog jf \
         cloudsmith hub-tool nexus3",
        "--org --project --token --server",
        "test info releases/list projects/list organizations/list config/validate \
         config/process version verify list status ls code/test iac/test container/test",
        "local/execute",
    ),
    tool(
        ToolDomain::Machine,
        "adb fastboot idevice_id ideviceinfo idevicesyslog",
        "-s -t",
        ". devices logcat version get-state get-serialno start-server jdwp shell/getprop \
         shell/dumpsys shell/ps shell/df shell/pm/list shell/wm/size shell/settings/get \
         getvar",
        "",
    ),
    tool(
        ToolDomain::Machine,
        "xcrun",
        "--sdk",
        ". simctl/list --find --show-sdk-path --show-sdk-version xctrace/list simctl/getenv",
        "swift swiftc swift-format clang clang++ xcodebuild metal metallib actool lipo nm \
         otool coremlc swift-test",
    ),
    tool(
        ToolDomain::Network,
        "jira linear asana trello notion todoist lab-cli tea berg bb-cli",
        "",
        "list ls view show issue/list issue/view me sprint/list board/list epic/list \
         project/list pr/list pulls issues repos whoami",
        "",
    ),
    tool(
        ToolDomain::Network,
        "huggingface-cli hf kaggle wandb mlflow dvc ollama llm replicate modal runpodctl \
         vastai clearml comet ray gdown",
        "-m --repo-type",
        "whoami scan-cache env list ls ps show status diff dag metrics/show metrics/diff \
         params/diff plots/show config/list remote/list version help models logs \
         datasets/list competitions/list kernels/list experiments/search runs/list app/list \
         data/status doctor",
        "repro checkout add init commit exp/run exp/show exp/list stage/list freeze unfreeze",
    ),
];
