"""Names of Azure's public regions and geographies, for a body's `location`."""

_NAMES = """
    asia asiapacific australia australiacentral australiacentral2 australiaeast
    australiasoutheast austriaeast belgiumcentral brazil brazilsouth brazilsoutheast
    canada canadacentral canadaeast centralindia centralus centraluseuap chilecentral
    denmarkeast eastasia eastus eastus2 eastus2euap europe france francecentral
    francesouth germany germanynorth germanywestcentral global india indonesiacentral
    israelcentral italynorth japan japaneast japanwest jioindiacentral jioindiawest
    korea koreacentral koreasouth malaysiawest mexicocentral newzealandnorth
    northcentralus northeurope norway norwayeast norwaywest poland polandcentral
    qatarcentral singapore southafrica southafricanorth southafricawest southcentralus
    southeastasia southeastus southindia spaincentral sweden swedencentral swedensouth
    switzerland switzerlandnorth switzerlandwest uae uaecentral uaenorth uk uksouth
    ukwest unitedstates westcentralus westeurope westindia westus westus2 westus3
"""
REGIONS = frozenset(_NAMES.split())
"""Names of regions and geographies, without spaces and in lower case."""


def normalized(location: str) -> str:
    """Return a location in the form of `REGIONS`: `West US 2` is `westus2`."""
    return location.replace(" ", "").lower()
