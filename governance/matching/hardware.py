"""What a set of cards can do: sustained rates from data sheets and a few constants."""

from __future__ import annotations

from dataclasses import dataclass

from governance.catalog.domain import CardSpec

from .constants import Values, pick

ECC_SHARE = 15 / 16
"""Server cards with GDDR memory show 1/16 less than nominal: error correction takes it."""
NODE_NETWORK = 25e9
"""Assumed bytes/s of a node's network (200 Gbit/s) where an offer says nothing; marked."""
DEFAULT_PCIE = 31.5e9


@dataclass(frozen=True, slots=True)
class Hardware:
    """Sustained rates of one card in its node. FLOP/s and bytes/s; memory in bytes."""

    slug: str
    matrix: float
    """Dense 16-bit matrix rate under the card's power limit."""
    matrix8: float
    attention_peak: float
    bandwidth: float
    """Theoretical memory bandwidth."""
    memory_share: float
    """Part of it that streaming kernels reach."""
    memory: float
    """Bytes that the card shows to software."""
    node: int
    link: float
    """Bus bandwidth of a collective over a whole node."""
    mesh: bool
    """True where each pair has its own link, so that few cards use few links."""
    pcie: float
    network: float
    """Bytes/s per direction of one node, after protocol."""
    latency: float
    network_latency: float
    gddr: bool
    maker: str
    arch: str

    def bus(self, cards: int, per_node: int) -> float:
        """Bus bandwidth (bytes/s) of one group of `cards` cards, `per_node` of them in a node.

        Inside a node it is the link's; across nodes each group gets the node's network in
        proportion to its members there (NCCL runs one ring per network card)."""
        if cards <= per_node:
            if self.mesh:
                return self.link * (cards - 1) / max(1, self.node - 1)
            return self.link
        across = self.network * per_node / self.node
        return min(across, self.link) if per_node > 1 else across


def shown_memory(card: CardSpec) -> float:
    """Bytes a card shows to software."""
    ecc = card.memory_type.startswith("GDDR") and card.form != "board"
    return card.memory_bytes * (ECC_SHARE if ecc else 1.0)


def sustained(card: CardSpec, watts: float | None, peak: float, k: Values) -> float:
    """Dense FLOP/s that large multiplications hold under the power limit.

    A chip made in a given process needs so many watts a teraflop; with less than that the clock
    falls, about with the square root of the shortfall."""
    limit = watts or card.tdp_w
    share = pick(k, "gemm", card.arch, "other")
    if limit is None:
        return peak * share * pick(k, "unknown_power", "other")
    need = pick(k, "watts", card.arch + "." + card.memory_type[:3], card.arch, "other")
    have = limit / ((card.matrix_flops or peak) / 1e12)
    held: float = min(1.0, have / need) ** k["power_exponent.all"]
    return peak * share * held


def hardware(
    card: CardSpec,
    *,
    k: Values,
    node: int = 8,
    watts: float | None = None,
    bandwidth: float | None = None,
    link_kind: str | None = None,
    link: float | None = None,
    network: float | None = None,
    memory: float | None = None,
) -> Hardware:
    """Rates of `card` in a node of `node` cards. Raises ValueError where a rate that time depends
    on is not known."""
    peak = card.matrix_flops
    speed = bandwidth or card.bandwidth_bytes_per_s
    if peak is None:
        raise ValueError(f"{card.name}: tensor rate not known")
    if speed is None:
        raise ValueError(f"{card.name}: memory bandwidth not known")
    kind = link_kind if link_kind is not None else card.link_kind
    wire = link if link is not None else card.link_bytes_per_s
    pcie = card.pcie_bytes_per_s or DEFAULT_PCIE
    bus, mesh = _link(card, kind, wire, pcie, k)
    gddr = card.memory_type.startswith("GDDR")
    matrix = sustained(card, watts, peak, k)
    return Hardware(
        slug=card.slug,
        matrix=matrix,
        matrix8=sustained(card, watts, card.fp8_flops, k) if card.fp8_flops else matrix,
        attention_peak=matrix,
        bandwidth=speed,
        memory_share=pick(k, "stream", "gddr" if gddr else "hbm", "hbm"),
        memory=memory or shown_memory(card),
        node=node,
        link=bus,
        mesh=mesh,
        pcie=pcie * k["pcie.copy"],
        network=(network if network is not None else NODE_NETWORK) * k["network.share"],
        latency=pick(k, "latency", "nvlink" if kind.startswith("NVLink") else "pcie", "pcie"),
        network_latency=k["latency.network"],
        gddr=gddr,
        maker=card.maker,
        arch=card.arch,
    )


def _link(
    card: CardSpec, kind: str, wire: float | None, pcie: float, k: Values
) -> tuple[float, bool]:
    if not wire or "bridge" in kind:
        share = "pcie_host" if card.form == "board" else "pcie_peer"
        return pcie * k[f"link.{share}"], False
    if kind.startswith("NVLink"):
        return wire * k["link.nvlink"], False
    if kind.startswith("HCCS"):
        return wire * k["link.hccs"], True
    return wire * k["link.mesh"], card.maker == "AMD"
