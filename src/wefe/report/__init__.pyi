from ._figures import write_figures as write_figures
from ._pages import write_page as write_page
from ._render import write_report as write_report
