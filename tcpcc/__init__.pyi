# The public names of tcpcc, for type checkers, editors and the lazy imports of __init__.py.

import tcpcc.definition as _definition
import tcpcc.scenario.link_changes as _link_changes

from . import errors as errors
from .apps import traces as traces
from .apps.browser import to_html as to_html
from .apps.conformance import judge as judge
from .apps.evaluate import attack as attack
from .apps.evaluate import calibrate as calibrate
from .apps.evaluate import evaluate as evaluate
from .apps.evaluate import fit as fit
from .apps.evaluate import league as league
from .apps.export import export as export
from .apps.interactive import explore as explore
from .controllers import Controller as Controller
from .definition import Flag as Flag
from .definition import Param as Param
from .definition import State as State
from .definition import register as register
from .errors import ScenarioError as ScenarioError
from .errors import TcpccError as TcpccError
from .models import analysis as analysis
from .models import estimate as estimate
from .models import simulate as simulate
from .models.packet.simpy_driver import PacketSimulation as PacketSimulation
from .queues import Discipline as Discipline
from .results import Run as Run
from .results import metrics as metrics
from .results import plots as plots
from .results.metrics import jain_index as jain_index
from .scenario import CBR as CBR
from .scenario import Access as Access
from .scenario import Change as Change
from .scenario import Flow as Flow
from .scenario import Link as Link
from .scenario import Network as Network
from .scenario import Scenario as Scenario
from .scenario import SlowStart as SlowStart
from .scenario import Transport as Transport
from .scenario import Workload as Workload
from .scenario import workloads as workloads
from .scenario.topologies import chain as chain
from .scenario.topologies import dumbbell as dumbbell
from .scenario.topologies import from_networkx as from_networkx
from .scenario.topologies import parking_lot as parking_lot
from .slow_start import StartUp as StartUp
from .sweeps import sweep as sweep
from .sweeps.parallel import on_cluster as on_cluster
from .transport.recovery import Recovery as Recovery

__version__: str

class _Queues(_definition.Registry[Discipline]):
    AdaptiveRED: Discipline
    CoDel: Discipline
    ConnectionRED: Discipline
    DropTail: Discipline
    DRR: Discipline
    DualPI2: Discipline
    FQ: Discipline
    FQCoDel: Discipline
    FQPIE: Discipline
    GilbertElliott: Discipline
    PI: Discipline
    PIE: Discipline
    Policer: Discipline
    QuickStartRouter: Discipline
    RED: Discipline
    REM: Discipline
    SFQ: Discipline
    SRED: Discipline
    StepMark: Discipline
    StrictPriority: Discipline
    TokenBucket: Discipline
    XCPRouter: Discipline

changes = _link_changes
controllers: _definition.Registry[Controller]
queues: _Queues
recoveries: _definition.Registry[Recovery]
slow_starts: _definition.Registry[StartUp]
