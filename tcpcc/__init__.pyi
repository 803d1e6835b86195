# The public names of tcpcc, for type checkers, editors and the lazy imports of __init__.py.

import pandas as pd

from .batch import batch as batch
from .controllers import Controller as Controller
from .definition import Flag as Flag
from .definition import Param as Param
from .definition import State as State
from .definition import register as register
from .errors import ScenarioError as ScenarioError
from .errors import TcpccError as TcpccError
from .export import export as export
from .interactive import explore as explore
from .many import SweepError as SweepError
from .many import SweepInterrupted as SweepInterrupted
from .many import simulate_many as simulate_many
from .models import Estimate as Estimate
from .models import LongRun as LongRun
from .models import ResourceError as ResourceError
from .models import RuleError as RuleError
from .models import estimate as estimate
from .models import simulate as simulate
from .models.meanfield.equilibrium import NoEquilibriumError as NoEquilibriumError
from .models.meanfield.equilibrium import equilibrium as equilibrium
from .models.meanfield.linear import NotSmoothError as NotSmoothError
from .models.meanfield.right_hand_side import right_hand_side as right_hand_side
from .models.meanfield.stability import Stability as Stability
from .models.meanfield.stability import stability as stability
from .models.meanfield.stability import stability_map as stability_map
from .models.packet.simpy_driver import PacketSimulation as PacketSimulation
from .queues import DRR as DRR
from .queues import FQ as FQ
from .queues import FQPIE as FQPIE
from .queues import PI as PI
from .queues import PIE as PIE
from .queues import RED as RED
from .queues import REM as REM
from .queues import SFQ as SFQ
from .queues import SRED as SRED
from .queues import AdaptiveRED as AdaptiveRED
from .queues import CoDel as CoDel
from .queues import ConnectionRED as ConnectionRED
from .queues import Discipline as Discipline
from .queues import DropTail as DropTail
from .queues import DualPI2 as DualPI2
from .queues import FQCoDel as FQCoDel
from .queues import GilbertElliott as GilbertElliott
from .queues import Policer as Policer
from .queues import QuickStartRouter as QuickStartRouter
from .queues import StepMark as StepMark
from .queues import StrictPriority as StrictPriority
from .queues import TokenBucket as TokenBucket
from .queues import XCPRouter as XCPRouter
from .results import Run as Run
from .results import convergence as convergence
from .results import metrics as metrics
from .results import plots as plots
from .results.metrics import convergence_time as convergence_time
from .results.metrics import jain_index as jain_index
from .scenario import CBR as CBR
from .scenario import Access as Access
from .scenario import Change as Change
from .scenario import Conversation as Conversation
from .scenario import Flow as Flow
from .scenario import Link as Link
from .scenario import Network as Network
from .scenario import Scenario as Scenario
from .scenario import SlowStart as SlowStart
from .scenario import Transport as Transport
from .scenario import Workload as Workload
from .scenario import tcplib as tcplib
from .scenario.changing import mahimahi as mahimahi
from .scenario.changing import outage as outage
from .scenario.changing import rate_series as rate_series
from .scenario.distributions import Distribution as Distribution
from .scenario.distributions import Empirical as Empirical
from .scenario.topologies import chain as chain
from .scenario.topologies import dumbbell as dumbbell
from .scenario.topologies import from_networkx as from_networkx
from .scenario.topologies import parking_lot as parking_lot
from .scenario.workload import on_off as on_off
from .scenario.workload import poisson as poisson
from .scenario.workload import web as web
from .slow_start import StartUp as StartUp
from .slow_start import slow_starts as slow_starts
from .sweep import grid as grid
from .sweep import sweep as sweep
from .transport.recovery import Recovery as Recovery
from .transport.recovery import recoveries as recoveries

__version__: str

def controllers() -> pd.DataFrame: ...
def queues() -> pd.DataFrame: ...
