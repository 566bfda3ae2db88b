"""Offers of three invented vendors, brought in as a price sheet like any other."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from governance.catalog import services as catalog
from governance.kernel.periods import local_date
from governance.portal.demo.people import ZONE, Company

SOURCE = "quote invented for the demonstration"
COLUMNS = (
    "vendor,region,card,cards_per_unit,max_cards,cards_per_node,network_gbps,"
    "egress_mbit,storage_gbs,hourly,monthly,annual,currency,tax_rate,tax_inclusive,valid_from,"
    "source,as_of"
)
OFFERS = {
    "Northwind Cloud": """\
cn-north-1,h100-80gb-sxm5,8,64,8,400,500,4,148.80,85710.00,1344000.00
cn-north-1,h100-80gb-sxm5,1,8,8,100,200,2,18.60,11160.00,168000.00
cn-north-1,h200-sxm,8,32,8,400,500,4,196.00,112900.00,1760000.00
cn-north-1,a30,1,16,4,25,100,1,3.40,1836.00,18360.00""",
    "Delta Compute": """\
cn-east-2,a800-80gb-sxm4,8,64,8,200,300,2,118.40,63936.00,613785.60
cn-east-2,a800-80gb-sxm4,1,8,8,100,100,1,14.80,7992.00,76723.20
cn-east-2,a100-40gb-pcie,1,8,8,100,100,1,8.90,4806.00,46137.60
cn-east-2,h20-96gb,8,64,8,400,300,2,72.00,38880.00,373248.00""",
    "Penguin GPU": """\
cn-south-1,rtx-4090,1,32,8,25,100,1,2.30,1242.00,12420.00
cn-south-1,rtx-4090,8,32,8,25,200,2,18.00,9720.00,97200.00
cn-south-1,l40s,1,16,8,25,100,1,4.20,2268.00,23400.00""",
}


def publish(company: Company, now: datetime) -> int:
    """Seed the catalogue and bring the offers in; returns how many offers are new."""
    operator = company.person("operator")
    catalog.seed_catalogue(actor=operator)
    today = local_date(now, ZoneInfo(ZONE))
    since = (today - timedelta(days=120)).isoformat()
    count = 0
    for vendor, lines in OFFERS.items():
        sheet = "\n".join(
            [
                COLUMNS,
                *(
                    f"{vendor},{line},CNY,0.06,true,{since},{SOURCE},{since}"
                    for line in lines.splitlines()
                ),
            ]
        )
        report = catalog.import_prices(
            actor=operator, text=sheet, form="native", vendor=vendor, today=today
        )
        if report.refused:
            raise RuntimeError(f"offer refused: {report.refused[0]}")
        count += report.count("new")
    return count
