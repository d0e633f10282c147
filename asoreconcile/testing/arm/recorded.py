"""The recorded answers to create, update and delete, per provider and type.

`style.Answer.of` explains the words. A provider's row holds for those of its types that
have no row of their own; `/*` means the types one level below. The prefix `microsoft.`
is left out.
"""

# ruff: noqa: E501 - a row is a row
ROWS = """
alertsmanagement | 201 self | 200 | 200
apimanagement | 201 | 200 | 200
app | 201 A 15 InProgress | 200 | 202 L
appconfiguration | 201 A 10 Creating | 200 Succeeded | 202 A+L 10
authorization | 201 | 200 | 200 object
batch | 202 L 15 empty | 202 L 15 empty | 202 L
cache | 201 A+L Creating | 201 A+L Updating | 202 A+L
cdn | 201 A 10 Creating | 202 A+L 10 Updating | 202 A+L 10
cognitiveservices | 201 Succeeded | 200 Succeeded | 200
communication | 201 A Accepted | 201 A Accepted | 202 A+L null
compute | 201 A 10 Creating | 200 A 10 Updating | 202 A+L 10
containerinstance | 201 A Pending | 201 A Pending | 200 object
containerregistry | 201 A 10 Creating | 200 Succeeded | 204
containerservice | 201 A Creating | 200 A Updating | 202 A+L
databasewatcher | 201 A Creating | 200 Succeeded | 202 A+L
datafactory | 200 | 200 | 200
dataprotection | 200 | 200 | 200
dbformariadb | 202 A+L 15 op | 202 A+L 15 op | 202 A+L 15
dbformysql | 202 A+L 60 op | 202 A+L 60 op | 202 A+L 15 object
dbforpostgresql | 202 A+L 60 op | 202 A+L 60 op | 202 A+L 15 object
devices | 201 A 15 Activating | 201 A 15 Activating | 202 A+L
documentdb | 202 A+L op | 202 A+L op | 202 A+L object
eventgrid | 201 A 10 Creating | 201 A 10 Updating | 202 A+L 10
eventhub | 200 | 200 | 200
insights | 200 | 200 | 200
keyvault | 200 RegisteringDns | 200 Succeeded | 200
kubernetesconfiguration | 201 A+foreign Creating | 200 Succeeded | 202 A
kusto | 201 A Creating | 200 A Updating | 202 A+L
machinelearningservices | 200 | 200 | 200
managedidentity | 201 self | 200 | 200
monitor | 201 Succeeded | 200 Succeeded | 202 A+L
network | 201 A 10 Updating | 200 A 10 Updating | 202 A+L 10
notificationhubs | 201 A+L 10 Creating | 200 | 200
operationalinsights | 201 A+resource 20 Creating | 200 Succeeded | 200
quota | 202 A+L 30 InProgress | 202 A+L 30 InProgress | 204
redhatopenshift | 201 A Creating | 200 A Updating | 202 A+L
resources | 201 Succeeded | 200 Succeeded | 202 L 15
search | 201 provisioning | 200 succeeded | 200
servicebus | 200 | 200 | 200
signalrservice | 201 A+L Creating | 202 A+L empty | 204
sql | 202 A+L 15 op | 202 A+L 15 op | 202 A+L 15
storage | 200 | 200 | 200
subscription | 200 Succeeded | 200 Succeeded | 200
synapse | 202 A+L Provisioning | 202 A+L Provisioning | 202 L
web | 200 | 200 | 200

apimanagement/service | 201 A+L 20 Created | 200 Succeeded | 202 A+L
apimanagement/service/apis | 202 A+L 20 empty | 200 | 200
cache/redis | 201 A+resource Creating | 200 Succeeded | 202 L
cache/redis/accesspolicies | 201 A+L Updating | 201 A+L Updating | 202 A+L
cache/redis/accesspolicyassignments | 201 A+L Updating | 201 A+L Updating | 202 A+L
cache/redis/firewallrules | 201 resource | 200 | 200
cache/redis/linkedservers | 201 A Creating | 201 A Creating | 202 A+L
cache/redis/patchschedules | 200 | 200 | 200
cache/redisenterprise | 201 A+L Creating | 200 Succeeded | 202 A+L object
cache/redisenterprise/* | 201 A+L Creating | 200 A+L Updating | 202 A+L object
cache/redisenterprise/databases/* | 201 A+resource Creating | 200 Succeeded | 202 A+resource object
cdn/profiles | 201 A 10 Creating | 202 A+L 10 Succeeded | 202 A+L 10
cdn/profiles/afdendpoints | 201 A 10 Creating | 200 Succeeded | 202 A+L 10
cdn/profiles/origingroups | 201 Succeeded | 202 A+L 10 Updating | 202 A+L 10
cdn/profiles/rulesets | 201 Succeeded | 200 Succeeded | 200
cdn/profiles/rulesets/rules | 201 Succeeded | 202 A+L 10 Updating | 200
cognitiveservices/accounts | 201 A Creating | 200 A Accepted | 200
communication/emailservices/domains/* | 200 Succeeded | 200 Succeeded | 200 null
compute/virtualmachines | 201 A 10 Creating | 200 A Updating | 202 A+L 10
compute/virtualmachines/extensions | 201 A Creating | 200 A Updating | 202 A+L
containerregistry/registries | 200 Succeeded | 200 Succeeded | 200
containerservice/fleets | 201 A Creating | 200 A Updating | 202 A+L object
containerservice/fleets/* | 201 Succeeded | 200 Succeeded | 200
containerservice/fleets/members | 201 A Joining | 200 A Joining | 202 A+L
containerservice/managedclusters/maintenanceconfigurations | 200 | 200 | 200
containerservice/managedclusters/trustedaccessrolebindings | 201 A Updating | 200 A Updating | 202 A+L
dataprotection/backupvaults | 201 A 10 Provisioning | 201 A 10 Updating | 202 A+L 30
dbformysql/flexibleservers/* | 202 A+L 15 op | 202 A+L 15 op | 202 A+L 15 object
dbformysql/flexibleservers/administrators | 202 A+L 60 op | 202 A+L 60 op | 202 A+L 60 object
dbformysql/flexibleservers/firewallrules | 202 A+L 60 op | 202 A+L 60 op | 202 A+L 60 object
dbforpostgresql/flexibleservers/* | 202 A+L 10 op | 202 A+L 10 op | 202 A+L 10 object
dbforpostgresql/flexibleservers/administrators | 202 A+L 60 op | 202 A+L 60 op | 202 A+L 30 object
dbforpostgresql/flexibleservers/backups | 202 A+L 15 op | 202 A+L 15 op | 202 A+L 15 object
dbforpostgresql/flexibleservers/firewallrules | 202 A+L 60 op | 202 A+L 60 op | 202 A+L 60 object
dbforpostgresql/flexibleservers/virtualendpoints | 202 A+L 60 op | 202 A+L 60 op | 202 A+L 60 object
documentdb/databaseaccounts | 200 A+L Creating | 200 A+L Updating | 202 A+L object
documentdb/mongoclusters | 201 A+L InProgress | 200 A+L InProgress | 202 A+L object
eventgrid/eventsubscriptions | 201 A 10 Creating | 201 A 10 Creating | 202 A+L 10
eventhub/namespaces | 201 Creating | 200 Succeeded | 202 A+L
insights/actiongroups | 201 | 200 | 200
insights/activitylogalerts | 201 | 200 | 200
insights/autoscalesettings | 201 | 200 | 200
insights/components | 200 Succeeded | 200 Succeeded | 200
insights/components/* | 200 | 200 | 200
insights/datacollectionendpoints | 200 Succeeded | 200 Succeeded | 200
insights/datacollectionrules | 200 Succeeded | 200 Succeeded | 200
insights/scheduledqueryrules | 201 | 200 | 200
insights/webtests | 200 Succeeded | 200 Succeeded | 200
machinelearningservices/workspaces | 202 A+L empty | 202 A+L empty | 202 A+L
machinelearningservices/workspaces/computes | 201 A Creating | 200 A Updating | 202 A
network/applicationgateways | 201 A 5 Updating | 200 A 5 Updating | 202 A+L 10
network/applicationgatewaywebapplicationfirewallpolicies | 201 A Updating | 200 A Updating | 202 A+L 10
network/applicationsecuritygroups | 201 A 1 Updating | 200 A Succeeded | 202 A+L 1
network/dnsforwardingrulesets | 202 A+L 5 Succeeded op | 202 A+L 5 op | 202 A+L 5
network/dnsforwardingrulesets/* | 202 A+L 5 Succeeded op | 202 A+L 5 op | 202 A+L 5
network/dnsforwardingrulesets/forwardingrules | 201 Succeeded | 200 Succeeded | 200
network/dnsresolvers | 202 A+L 5 Succeeded op | 202 A+L 5 op | 202 A+L 5
network/dnsresolvers/* | 202 A+L 5 Succeeded op | 202 A+L 5 op | 202 A+L 5
network/dnszones | 201 | 200 | 202 A+L 3
network/dnszones/* | 201 Succeeded | 200 Succeeded | 200
network/firewallpolicies/* | 201 A 10 Updating | 200 A 10 Updating | 202 A+L 10 object
network/frontdoorwebapplicationfirewallpolicies | 201 Succeeded | 200 Succeeded | 202 A+L 10
network/loadbalancers | 201 A Succeeded | 200 A Succeeded | 202 A+L 10
network/loadbalancers/* | 201 A Succeeded | 200 A Succeeded | 202 A+L 10
network/natgateways | 201 A 10 Updating | 200 A Succeeded | 202 A+L 10
network/networkinterfaces | 201 Succeeded | 200 Succeeded | 202 A+L 4
network/networksecuritygroups | 201 A 1 Updating | 200 A Succeeded | 202 A+L 1
network/networksecuritygroups/* | 201 A 1 Updating | 200 A 1 Updating | 202 A+L 10
network/networkwatchers | 201 A Succeeded | 200 A Succeeded | 202 A+L 10
network/privatednszones | 202 A+L 30 Succeeded op | 202 A+L 30 op | 202 A+L 30
network/privatednszones/* | 201 | 200 | 200
network/privatednszones/virtualnetworklinks | 202 A+L 30 Succeeded op | 202 A+L 30 op | 202 A+L 30
network/privateendpoints | 201 A 10 Updating | 200 A Succeeded | 202 A+L 10
network/privatelinkservices | 201 A 10 Updating | 200 A Succeeded | 202 A+L 10
network/publicipaddresses | 201 A 1 Updating | 200 A 1 Updating | 202 A+L 10
network/publicipprefixes | 201 A 3 Updating | 200 A Succeeded | 202 A+L 10
network/routetables | 201 A 2 Updating | 200 A Succeeded | 202 A+L 2
network/routetables/* | 201 A 2 Updating | 200 A 2 Updating | 202 A+L 2
network/trafficmanagerprofiles | 201 | 200 | 200 object
network/trafficmanagerprofiles/* | 201 | 200 | 200 object
network/virtualnetworks | 201 A 3 Updating | 200 A Succeeded | 202 A+L 10
network/virtualnetworks/subnets | 201 A 3 Updating | 200 A Succeeded | 202 A+L 10
servicebus/namespaces | 201 A+L Creating | 200 Succeeded | 202 A+L
storage/storageaccounts | 202 L 17 empty | 200 Succeeded | 200
storage/storageaccounts/blobservices/* | 201 | 200 | 200
synapse/workspaces | 201 A Provisioning | 201 A Provisioning | 202 A+L
web/serverfarms | 200 Succeeded | 200 Succeeded | 200
web/sites/sourcecontrols | 201 InProgress | 200 Succeeded | 200
"""
